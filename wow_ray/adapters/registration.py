"""What both stores say when an alias comes too late: its old group is kept, but nothing can take it over any more."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from wow_ray.ports.slots import GroupDeclared

log = logging.getLogger("wow_ray.registration")


def warn_of_late_aliases(declared: Sequence[GroupDeclared], stored: Collection[str]) -> None:
    """Warn of each alias whose group is known beside the one that names it.

    A release that renames has to bring the alias (L5): once the new name has progress of its own, joining the two would
    repeat what it has handled. The old group's rows stay and are shown; they can be resumed under the old name only.
    """
    for group in declared:
        late = [alias for alias in group.aliases if group.name in stored and alias in stored]
        for alias in late:
            log.warning(
                "the alias %r of %s comes too late: %s has progress of its own since a release without it; the rows of "
                "%r are kept and can be resumed by a release that declares that name",
                alias,
                group.name,
                group.name,
                alias,
            )

"""What both stores say of groups that return, and of an alias that comes too late for anything to be taken over."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Literal

from wow_ray.errors import ConfigurationError
from wow_ray.ports.slots import GroupDeclared

log = logging.getLogger("wow_ray.registration")


def refuse_returning(back: Sequence[str], returning: Literal["stored", "end"] | None) -> None:
    """Raise `ConfigurationError` when groups that were away return and nobody says where they go on (H20)."""
    if back and returning is None:
        names = ", ".join(sorted(back))
        msg = f"{names} was retired and returns; say where it goes on: `--returning stored` or `--returning end`"
        raise ConfigurationError(msg, "WOW-RETURNING")


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

"""What failures mean here: each source of opinion is asked, in the order of its authority (K1)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wow_ray.policy.classify import Classified, classify
from wow_ray.runtime.elsewhere import FailedElsewhereError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wow_ray.policy.classify import Classifier
    from wow_ray.runtime.group import Handler

log = logging.getLogger("wow_ray.verdicts")


class Verdicts:
    """How failures are classified here: the application's classifiers, then the modules' (K1)."""

    def __init__(
        self,
        application: Sequence[Classifier],
        modules: Sequence[Classifier],
        wants_jitter: Callable[[BaseException], bool],
    ) -> None:
        """`wants_jitter` tells errors whose retries must not go in lock-step, such as deadlocks (H34)."""
        self.application = application
        self.modules = modules
        self.wants_jitter = wants_jitter
        self._said: set[object] = set()

    def of(self, error: BaseException, handler: Handler) -> Classified:
        """Classify one failed attempt, anew each time (K6); one made elsewhere was classified there (S76)."""
        if isinstance(error, FailedElsewhereError):
            return Classified(error.failure.category, error.failure.source)
        return classify(error, handler.subscription, handler.lists, self.application, self.modules, self._broken)

    def _broken(self, classifier: Classifier, error: BaseException) -> None:
        """Say once that a classifier does not work; it then counts as having no opinion (K8)."""
        if classifier not in self._said:
            self._said.add(classifier)
            log.error("classifier %r failed and counts as having no opinion", classifier, exc_info=error)

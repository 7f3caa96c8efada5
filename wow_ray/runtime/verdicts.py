"""What failures mean here: each source of opinion is asked, in the order of its authority (K1)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol, TypeVar

from wow_ray.policy.by_class import MOST, ByClass
from wow_ray.policy.classifiers import Foreign, Module, name_of
from wow_ray.policy.classify import Classified, classify, judgement, opinion
from wow_ray.runtime.asking import Asking, Room
from wow_ray.runtime.elsewhere import failed_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wow_ray.failure import Category
    from wow_ray.policy.classify import Asked, Lists
    from wow_ray.ports.clock import Clock

log = logging.getLogger("wow_ray.verdicts")

K = TypeVar("K")
V = TypeVar("V")


class Listing(Protocol):
    """What a handler, or its declaration, says of itself here."""

    @property
    def subscription(self) -> str:
        """Its name, which classifiers see."""
        ...

    @property
    def lists(self) -> Lists:
        """The lists that count for it."""
        ...


class Verdicts:
    """How failures are classified here: the application's classifiers, then the modules' (K1).

    `gathered` waits for classifiers that may wait or hang: the application's, and those of other packages. Where
    there are none (`needs_wait` is false) `of` answers at once, and from memory where an error's class decides.
    """

    def __init__(
        self,
        application: Sequence[Asked],
        modules: Sequence[Asked],
        wants_jitter: Callable[[BaseException], bool],
        clock: Clock,
    ) -> None:
        """`wants_jitter` tells errors whose retries must not go in lock-step, such as deadlocks (H34).

        It looks at nothing that `modules` of our own do not look at.
        """
        self.application = application
        self.modules = modules
        self._wants_jitter = wants_jitter
        guarded = (*application, *(module for module in modules if isinstance(module, Foreign)))
        self.needs_wait = bool(guarded)
        self._guarded = {id(classifier) for classifier in guarded}
        self._said: set[int] = set()
        self._asking = Asking(clock, self._broken)
        ours = [module.looks for module in modules if isinstance(module, Module)]
        self._by_class = ByClass(ours) if len(ours) == len(modules) and not application else None
        self._found: dict[tuple[type[BaseException], Lists], Classified] = {}
        self._jittered: dict[type[BaseException], bool] = {}

    @property
    def asking(self) -> bool:
        """Whether the answer of a plain function in a thread is waited for now."""
        return self._asking.under_way > 0

    @property
    def remembered(self) -> int:
        """How much is remembered of each kind, at most."""
        return max(len(self._found), len(self._jittered))

    def of(self, error: BaseException, handler: Listing) -> Classified:
        """Classify one failed attempt, anew each time (K6); one made elsewhere was classified there (S76).

        Calls every classifier here and now, which is for where none needs to be waited for.
        """
        if (there := failed_elsewhere(error)) is not None:
            return Classified(there.failure.category, there.failure.source)
        if self._by_class is None or not self._by_class.settles(error):
            return self._judged(error, handler)
        key = type(error), handler.lists
        found = self._found.get(key)
        if found is None:
            found = _remembered(self._found, key, self._judged(error, handler))
        return found

    def wants_jitter(self, error: BaseException) -> bool:
        """Tell whether retries are spread, because somebody else was in the way (H34)."""
        if self._by_class is None or not self._by_class.settles(error):
            return self._looked_at(error)
        cls = type(error)
        found = self._jittered.get(cls)
        if found is None:
            found = _remembered(self._jittered, cls, self._looked_at(error))
        return found

    def _looked_at(self, error: BaseException) -> bool:
        """Ask whether retries are spread; looking at an error runs its own code, which may raise anything."""
        try:
            return self._wants_jitter(error)
        except (Exception, SystemExit):  # noqa: BLE001 - such an error is no contention, and no reason to end
            return False

    def _judged(self, error: BaseException, handler: Listing) -> Classified:
        return classify(error, handler.subscription, handler.lists, self.application, self.modules, self._broken)

    async def gathered(self, error: BaseException, handler: Listing) -> Classified:
        """Classify one failed attempt as `of` does, waiting a second at most for each classifier (K8).

        Waits for nothing when a list decides, or where no classifier needs it.
        """
        if failed_elsewhere(error) is not None or not self.needs_wait:
            return self.of(error, handler)
        questions = judgement(error, handler.lists, self.application, self.modules)
        rooms: dict[int, Room] = {}
        answer: Category | None = None
        while True:
            try:
                question = questions.send(answer)
            except StopIteration as end:
                verdict: Classified = end.value
                return verdict
            asked = id(question.classifier)
            if asked in self._guarded:
                answer = await self._asking.ask(question, handler.subscription, rooms.setdefault(asked, Room()))
            else:
                answer = opinion(question, handler.subscription, self._broken)

    def close(self) -> None:
        """Let the thread of plain classifiers end."""
        self._asking.close()

    def _broken(self, classifier: Asked, error: BaseException) -> None:
        """Say once that a classifier does not work; it then counts as having no opinion (K8)."""
        if id(classifier) in self._said:
            return
        self._said.add(id(classifier))
        whose = f" of the package {classifier.package}" if isinstance(classifier, Foreign) else ""
        said = "classifier %s%s failed and counts as having no opinion: %r"
        log.error(said, name_of(classifier), whose, error, exc_info=error)


def _remembered(memory: dict[K, V], key: K, value: V) -> V:
    """Keep a value, and not more than so many."""
    if len(memory) >= MOST:
        memory.clear()
    memory[key] = value
    return value

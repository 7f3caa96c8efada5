"""What a failure means: its category, and who said so (section 3 of the contract).

Asked anew at every attempt, live or parked (K6). Whether an error is a failure of the handler at all is the caller's
to settle first: `control_flow` errors are not, and neither is a cancellation that our own timeout or drain asked for.

Nothing here calls a classifier but `classify`: `judgement` only says whom to ask next and about what. So whoever drives
it may call, wait, or give up waiting (K8), and nobody is asked whose opinion is not needed.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import iscoroutine
from typing import NamedTuple

from wow_ray.errors import DefinitionError, UnrecoverableHandlingError
from wow_ray.failure import LINKS, Category, causes, unwrapped
from wow_ray.policy.classifiers import AnyClassifier, Foreign, Question, name_of
from wow_ray.raised import members_of

Errors = tuple[type[BaseException], ...]
Asked = AnyClassifier | Foreign
Broken = Callable[[Asked, BaseException], None]
Judgement = Generator[Question, Category | None, "Classified"]
"""Yields whom to ask, is sent the opinion (`None` = none), returns the verdict."""

_CONTROL = (KeyboardInterrupt, SystemExit, GeneratorExit)
_UNLISTABLE = (*_CONTROL, CancelledError)

_LEAVES = 1_000
"""How many errors of a group are judged: each may have everybody asked, on the loop that everybody is handled on."""


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists that count for one handler, checked by `checked_list`; an entry covers its subclasses (K2)."""

    recoverable: Errors = ()
    unrecoverable: Errors = ()
    systemic: Errors = ()


@dataclass(frozen=True, slots=True)
class ListsGiven:
    """The lists one `@retry` gives; `None` is not given, an empty one is given and empty."""

    recoverable: Errors | None = None
    unrecoverable: Errors | None = None
    systemic: Errors | None = None


class Classified(NamedTuple):
    """A category, and who chose it: `list`, `classifier:<name>`, `module:<name>`, or `default`: nobody, so recoverable.

    Only `default` counts towards the systemic window (W2).
    """

    category: Category
    source: str


DEFAULT = Classified(Category.RECOVERABLE, "default")


def resolve_lists(handler: ListsGiven, processor: ListsGiven) -> Lists:
    """Answer the lists of a handler: each of its own replaces its processor's of the same name whole (K3)."""

    def chosen(own: Errors | None, inherited: Errors | None) -> Errors:
        return own if own is not None else inherited or ()

    return Lists(
        chosen(handler.recoverable, processor.recoverable),
        chosen(handler.unrecoverable, processor.unrecoverable),
        chosen(handler.systemic, processor.systemic),
    )


def judgement(error: BaseException, lists: Lists, application: Sequence[Asked], modules: Sequence[Asked]) -> Judgement:
    """Find the category of a failure and who chose it, by asking one question after the other (K1, K2, K4).

    Authority goes from the handler's lists over the application's classifiers (in order) and the modules' (in order)
    to recoverable by default. Each of these looks at the unwrapped error, then along its explicit causes; so a listed
    cause beats what a classifier says of the outer error. A group is judged by its leaves.
    """
    return (yield from _Judge(lists, application, modules).verdict(error))[1]


def classify(  # noqa: PLR0917 - a failure, and the five who may know about it, in order of authority
    error: BaseException,
    subscription: str,
    lists: Lists,
    application: Sequence[Asked],
    modules: Sequence[Asked],
    broken: Broken,
) -> Classified:
    """Answer a judgement's questions by calling each classifier here and now; for those that neither wait nor hang.

    `broken` is told of a classifier that raised, or answered what is no category, which counts as no opinion (K8);
    telling it once is the caller's to see to.
    """
    questions = judgement(error, lists, application, modules)
    answer: Category | None = None
    while True:
        try:
            asked = questions.send(answer)
        except StopIteration as end:
            verdict: Classified = end.value
            return verdict
        answer = opinion(asked, subscription, broken)


def opinion(question: Question, subscription: str, broken: Broken) -> Category | None:
    """Ask one classifier here and now; one that raises or answers nonsense has no opinion, and `broken` is told."""
    try:
        return checked(question.classifier(question.error, subscription))
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # noqa: BLE001 - a classifier never stops the loop (K8)
        broken(question.classifier, problem)
        return None


def checked(answer: object) -> Category | None:
    """Answer what a classifier said, or raise `TypeError` when that is no category."""
    if answer is None or isinstance(answer, Category):
        return answer
    hint = ""
    if iscoroutine(answer):
        answer.close()
        hint = "; one that waits is an `async def`"
    raise TypeError(f"a classifier answers a Category or None, not {type(answer).__name__}{hint}")


def control_flow(error: BaseException) -> bool:
    """Whether an error is no failure of a handler but must end what runs: Ctrl-C, exit, a closed generator (K5).

    A group counts when one of its leaves does. A cancellation is not among them: who asked for it decides.
    """
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        error = waiting.pop()
        if issubclass(type(error), _CONTROL):
            return True
        members = members_of(error)
        if members is not None and id(error) not in seen:
            seen.add(id(error))
            waiting.extend(members)
    return False


def checked_list(entries: object, which: str, where: str) -> Errors:
    """Answer the entries of the list `which` given at `where`, without repeats, in order.

    Raises `DefinitionError` (`WOW-K5`) for what is no sequence of exception classes, and for `KeyboardInterrupt`,
    `SystemExit`, `GeneratorExit`, `CancelledError`, their subclasses and `BaseException`, which covers them.
    """
    place = f"{which} of {where}"
    if isinstance(entries, type):
        raise DefinitionError(f"{place} is the class {entries.__name__}; write {which}=[{entries.__name__}]", "WOW-K5")
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        raise DefinitionError(f"{place} is {entries!r}; write a list of exception classes, as [ValueError]", "WOW-K5")
    found: dict[type[BaseException], None] = {}
    for entry in entries:
        if not (isinstance(entry, type) and issubclass(entry, BaseException)):
            hint = f"; write {type(entry).__name__}, the class" if isinstance(entry, BaseException) else ""
            raise DefinitionError(f"{place} has {entry!r}, which is no exception class{hint}", "WOW-K5")
        if entry is BaseException or issubclass(entry, _UNLISTABLE):
            raise DefinitionError(
                f"{place} has {entry.__name__}; it steers the program and is never a failure of a handler; "
                "list subclasses of Exception",
                "WOW-K5",
            )
        found[entry] = None
    return tuple(found)


def leaves(group: BaseException) -> list[BaseException]:
    """List the errors in a group that are no groups themselves, in order, those of nested groups in their place.

    A group met again is not opened again: few groups can hold each other on very many ways.
    """
    found: list[BaseException] = []
    waiting: list[BaseException] = [group]
    seen: set[int] = set()
    while waiting:
        error = unwrapped(waiting.pop())
        members = members_of(error)
        if members is None:
            found.append(error)
        elif id(error) not in seen:
            seen.add(id(error))
            waiting.extend(reversed(members))
    return found


Ranked = tuple[int, Classified]
"""A verdict after the rank of who gave it: 0 the lists, 1 the application, 2 the modules, 3 nobody."""

_NOBODY: Ranked = (3, DEFAULT)


_Asking = Generator[Question, Category | None, Ranked]


class _Judge:
    """The sources of opinion for one failure, asked in order of authority."""

    __slots__ = ("open", "sources", "table")

    def __init__(self, lists: Lists, application: Sequence[Asked], modules: Sequence[Asked]) -> None:
        self.table = _table(lists)
        self.sources = ((1, "classifier", application), (2, "module", modules))
        # Groups being judged: one met again among its own causes, or too deep in them, has no opinion.
        self.open: set[int] = set()

    def verdict(self, error: BaseException) -> _Asking:
        """Ask each source about the error, then along its causes; a group among them is judged as a whole."""
        chain: list[tuple[BaseException, Ranked | None]] = []
        for link in causes(error):
            judged: Ranked | None = None
            if members_of(link) is not None:
                judged = yield from self.of_group(link)
                if judged[0] == 0:
                    return judged
            elif (entry := self.entry(link)) is not None:
                return 0, Classified(self.table[entry], "list")
            chain.append((link, judged))
        for rank, kind, classifiers in self.sources:
            for link, judged in chain:
                if judged is not None:
                    if judged[0] == rank:
                        return judged
                elif (found := (yield from _first(classifiers, kind, link))) is not None:
                    return rank, found
        return _NOBODY

    def of_group(self, group: BaseException) -> _Asking:
        """Judge a group by its leaves (K4): any unrecoverable one decides, else all must be systemic, or backpressure.

        Else it is recoverable: by default, unless somebody called every single leaf so. A list entry that is itself
        a class of groups was meant for them and comes first. Of very many leaves the first thousand speak for all.
        """
        entry = self.entry(group)
        if entry is not None and issubclass(entry, BaseExceptionGroup):
            return 0, Classified(self.table[entry], "list")
        if id(group) in self.open or len(self.open) >= LINKS:
            return _NOBODY
        self.open.add(id(group))
        verdicts: list[Ranked] = []
        for leaf in leaves(group)[:_LEAVES]:
            verdict = yield from self.verdict(leaf)
            verdicts.append(verdict)
        self.open.discard(id(group))
        fatal = [verdict for verdict in verdicts if verdict[1].category is Category.UNRECOVERABLE]
        if fatal:
            return min(fatal)
        return max(verdicts) if len({verdict.category for _, verdict in verdicts}) == 1 else _NOBODY

    def entry(self, error: BaseException) -> type[BaseException] | None:
        """Find the nearest listed class in the error's MRO (K2)."""
        return next((cls for cls in type(error).__mro__ if cls in self.table), None)


def _first(
    classifiers: Sequence[Asked], kind: str, error: BaseException
) -> Generator[Question, Category | None, Classified | None]:
    """Ask classifiers about one error, in order, until one has an opinion."""
    for classifier in classifiers:
        category = yield Question(classifier, error)
        if category is not None:
            return Classified(category, f"{kind}:{name_of(classifier)}")
    return None


@lru_cache(maxsize=1_024)
def _table(lists: Lists) -> dict[type[BaseException], Category]:
    """Map each listed class to its category; of one listed twice recoverable wins, then systemic (K2)."""
    table: dict[type[BaseException], Category] = {UnrecoverableHandlingError: Category.UNRECOVERABLE}
    table.update(dict.fromkeys(lists.unrecoverable, Category.UNRECOVERABLE))
    table.update(dict.fromkeys(lists.systemic, Category.SYSTEMIC))
    table.update(dict.fromkeys(lists.recoverable, Category.RECOVERABLE))
    return table

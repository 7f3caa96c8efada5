"""What an operator may do about a durable function as a whole: look, have it stand still, let it go on (H44)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from wow_ray.errors import ConflictError, NotFoundError, OperationError
from wow_ray.names import nearest
from wow_ray.ops.commands import Command, check_command
from wow_ray.ops.views import View
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS, PauseReason
from wow_ray.ports.durable_calls import DurableCalls
from wow_ray.ports.function_pauses import FunctionPause, FunctionPauseAsked, FunctionPauses
from wow_ray.ports.ledger import Intent

MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class FunctionPauseView(View):
    """One pause of a function; `ended_at` is `None` while it is present."""

    reason: str
    since: datetime
    actor: str
    text: str
    request_id: str
    ended_at: datetime | None
    ended_by: str
    ended_text: str

    @classmethod
    def of(cls, pause: FunctionPause) -> FunctionPauseView:
        """View a pause."""
        over = (pause.ended_at, pause.ended_by, pause.ended_text)
        return cls(pause.reason.value, pause.since, pause.actor, pause.text, pause.request_id, *over)


@dataclass(frozen=True, slots=True)
class FunctionView(View):
    """One function: its calls that are not over by state, and its pauses; while there is one no call of it begins."""

    function: str
    calls: Mapping[str, int]
    pauses: tuple[FunctionPauseView, ...]


@dataclass(frozen=True, slots=True)
class FunctionList(View):
    """Every function that the operator's app declares, or of which calls or pauses are stored."""

    functions: tuple[FunctionView, ...]


@dataclass(frozen=True, slots=True)
class FunctionPauseList(View):
    """A function's pauses, the newest first."""

    pauses: tuple[FunctionPauseView, ...]


@dataclass(frozen=True, slots=True)
class FunctionPauseAnswer(View):
    """What became of a pause or a resume: it is stored, and every worker does it within a second or two.

    Not `changed` = it was so already. `pauses` are all that the function has now.
    """

    request_id: str
    verb: Verb
    function: str
    reason: str
    changed: bool
    pauses: tuple[FunctionPauseView, ...]
    asked_at: datetime


class FunctionOperations:
    """Looks at one context's durable functions, and has them stand still."""

    def __init__(
        self,
        calls: DurableCalls,
        pauses: FunctionPauses,
        new_id: Callable[[], str],
        declared: Iterable[str] = (),
    ) -> None:
        """`declared` are the functions of the operator's app, where it is known."""
        self._calls = calls
        self._pauses = pauses
        self._new_id = new_id
        self._declared = frozenset(declared)

    async def listed(self) -> FunctionList:
        """Show every function."""
        calls: dict[str, dict[str, int]] = {name: {} for name in self._declared}
        for (function, state), count in sorted((await self._calls.counts()).items()):
            calls.setdefault(function, {})[state.value] = count
        pauses: dict[str, list[FunctionPauseView]] = {}
        for pause in await self._pauses.present():
            pauses.setdefault(pause.function, []).append(FunctionPauseView.of(pause))
        names = sorted(calls.keys() | pauses.keys())
        return FunctionList(
            tuple(FunctionView(name, calls.get(name, {}), tuple(pauses.get(name, ()))) for name in names)
        )

    async def history(self, function: str, limit: int = 100) -> FunctionPauseList:
        """Show when and why a function was paused and who resumed it; raises `NotFoundError`."""
        if not 1 <= limit <= MOST_LISTED:
            raise OperationError(f"limit is {limit}; 1 to {MOST_LISTED} pauses are listed")
        found = await self._pauses.history(function, limit)
        if not found:
            await self._check(function)
        return FunctionPauseList(tuple(map(FunctionPauseView.of, found)))

    async def pause(
        self, function: str, command: Command, reason: PauseReason = PauseReason.OPERATOR
    ) -> FunctionPauseAnswer:
        """Have no call of a function begin until this pause is ended; calls under way end.

        Raises `NotFoundError` for a function that neither the app nor the store knows.
        """
        asked = await self._asked(function, command, reason)
        return await self._answered(await self._pauses.set(asked), asked, Verb.PAUSE)

    async def resume(
        self, function: str, command: Command, reason: PauseReason = PauseReason.OPERATOR
    ) -> FunctionPauseAnswer:
        """End that one pause; the function goes on once there is no other. Raises as `pause`."""
        asked = await self._asked(function, command, reason)
        return await self._answered(await self._pauses.end(asked), asked, Verb.END_PAUSE)

    async def _asked(self, function: str, command: Command, reason: PauseReason) -> FunctionPauseAsked:
        check_command(command)
        if reason not in STOPS:
            listed = ", ".join(sorted(each.value for each in STOPS))
            raise OperationError(f"nobody pauses a function for {reason.value!r} on purpose; one of {listed}")
        await self._check(function)
        request_id = command.request_id or self._new_id()
        return FunctionPauseAsked(request_id, function, reason, command.actor.strip(), command.reason.strip())

    async def _check(self, function: str) -> None:
        """Refuse a function that nobody has heard of: its pause would hold nobody back."""
        known = {each.function for each in (await self.listed()).functions}
        if function not in known:
            hint = nearest(function, sorted(known))
            raise NotFoundError(f"there is no durable function {function!r}{hint}; see `wow-ray functions list`")

    async def _answered(self, action: Intent, asked: FunctionPauseAsked, verb: Verb) -> FunctionPauseAnswer:
        """Answer with the action as it is stored, which may be that of an earlier request under the same id."""
        outcome = action.outcome
        if (action.request.verb, action.request.group, outcome.get("pause_reason")) != (
            verb,
            asked.function,
            asked.reason.value,
        ):
            text = f"request id {asked.request_id!r} was used for another command; take a new one"
            raise ConflictError(f"request_id: {text}")
        present = await self._pauses.present()
        return FunctionPauseAnswer(
            request_id=asked.request_id,
            verb=verb,
            function=asked.function,
            reason=asked.reason.value,
            changed=bool(outcome["changed"]),
            pauses=tuple(FunctionPauseView.of(each) for each in present if each.function == asked.function),
            asked_at=action.asked_at,
        )

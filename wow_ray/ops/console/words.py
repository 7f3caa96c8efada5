"""What the console calls things, and what it says of them: the words of the contract, in whole sentences."""

from __future__ import annotations

from collections.abc import Mapping

from wow_ray.policy.durable_call import CallReason, CallState, Fallback
from wow_ray.policy.parked import Reason, State, Verb
from wow_ray.policy.pauses import PauseReason

STATES: Mapping[str, str] = {
    State.WAITING: "waits for its next call within the budget; not parked",
    State.PARKED: "parked; the next retry comes by itself",
    State.RETRYING: "a call or the reading of what is held is under way",
    State.EXHAUSTED: "nothing happens by itself any more: it waits for a person",
    State.RESOLVED: "over: everything held was handled",
    State.SKIPPED: "over: an operator had events passed over, the rest was handled",
    State.RESET: "over: its projection began anew",
    State.NOTHING_TO_READ: "over: there was nothing left to read",
}
REASONS: Mapping[str, str] = {
    Reason.UNRECOVERABLE: "its error was classified unrecoverable, so it was called once",
    Reason.BUDGET_SPENT: "every call of its budget failed",
    Reason.BACKPRESSURE_SPENT: "the other side stayed too busy for the whole budget of such answers",
    Reason.CRASHED_WORKER: "handling it killed the worker's process again and again",
    Reason.NOT_ENDING: "a call did not end long after its timeout",
    Reason.UNDECODABLE: "its event cannot be read by this program",
    Reason.NO_HANDLER: "there is no handler for its event any more",
    Reason.OPERATOR: "an operator parked it on purpose",
}
CATEGORIES: Mapping[str, str] = {
    "unrecoverable": "calling again has no point",
    "recoverable": "it may pass; tried again within the budget",
    "systemic": "the surroundings fail, not this aggregate",
    "backpressure": "the other side is too busy",
    "none": "no error: parked on purpose",
}
PAUSES: Mapping[str, str] = {
    PauseReason.OPERATOR: "somebody asked for it",
    PauseReason.DEPLOY: "a rollout has it wait",
    PauseReason.RESTORED: "the store was restored; somebody has to say whether the outside may be acted on again",
    PauseReason.RESET: "it is being reset",
    PauseReason.SYSTEMIC: "its surroundings fail; it probes and goes on by itself once they are back",
    PauseReason.MASS_FAILURE: "very many aggregates failed alike; it probes, and an operator may lift this",
}
VERBS: Mapping[str, str] = {
    Verb.RESUME: "resume",
    Verb.RETRY_NOW: "retry now",
    Verb.SKIP: "skip",
    Verb.SKIP_ONE: "skip one event",
    Verb.PARK: "park",
    Verb.RESET: "reset",
    Verb.PAUSE: "pause",
    Verb.END_PAUSE: "resume subscription",
    Verb.SCALE: "scale",
    Verb.RETRY_CALL: "retry call",
    Verb.CANCEL_CALL: "cancel call",
    Verb.DISCARD_CALL: "discard call",
    Verb.RESEND_NOTICE: "send a notice again",
    Verb.TEST_WEBHOOK: "test a webhook",
}
CALL_STATES: Mapping[str, str] = {
    CallState.WAITING: "waits until it is due, or until a worker has room",
    CallState.RUNNING: "a call of it is under way",
    CallState.SUCCEEDED: "over: it returned",
    CallState.EXHAUSTED: "nothing happens by itself any more: it waits for a person",
    CallState.CANCELLED: "over: somebody cancelled it",
    CallState.DISCARDED: "over: an operator put it aside",
}
CALL_REASONS: Mapping[str, str] = {
    CallReason.UNRECOVERABLE: "its error was classified unrecoverable, or its result cannot be stored",
    CallReason.BUDGET_SPENT: "every call of its budget failed",
    CallReason.BACKPRESSURE_SPENT: "the other side stayed too busy for the whole budget of such answers",
    CallReason.CRASHED_WORKER: "its last call ended with its worker's process, and no call is left",
    CallReason.NOT_ENDING: "a call did not end long after its timeout",
    CallReason.UNFIT: "it does not fit its function any more; no call was made for that",
}
FALLBACKS: Mapping[str, str] = {
    Fallback.NONE: "none was called",
    Fallback.BEGUN: "it is being called",
    Fallback.DONE: "it did its work",
    Fallback.FAILED: "it failed as well",
    Fallback.INTERRUPTED: "its worker's process ended twice while it was called",
}
PLACES: Mapping[str, str] = {
    "passed": "done before",
    "stopped": "stopped here",
    "held": "held",
    "ahead": "not read yet",
    "not_read": "of no concern to this group",
}
_SOURCES: Mapping[str, str] = {
    "list": "the handler's or its processor's own lists name this error",
    "classifier": "a classifier of the app says so",
    "module": "it is one of the errors that are known out of the box",
    "default": "nobody had an opinion, and what nobody knows may pass",
}


def classified(category: str, source: str) -> str:
    """Say who chose a category and what it means (K1)."""
    kind, _, name = source.partition(":")
    because = _SOURCES.get(kind, source)
    said = f"{because} ({name})" if name and kind in _SOURCES else because
    return f"{category}, because {said}: {CATEGORIES.get(category, 'of an unknown kind')}"


def sentence(text: str) -> str:
    """Begin with a capital; the rest stays as it is, names of classes among it."""
    return text[:1].upper() + text[1:]


def age(seconds: float | None) -> str:
    """Write a length of time by its two largest units."""
    if seconds is None or seconds != seconds or seconds == float("inf"):  # noqa: PLR0124 - a NaN is not itself
        return "without end"
    whole = int(max(0.0, seconds))
    if whole < 1:
        return "now" if seconds < 0.05 else f"{seconds:.1f} s"  # noqa: PLR2004 - below what anybody sees
    parts: list[tuple[int, str]] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, whole = divmod(whole, size)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def times(count: int, one: str, many: str | None = None) -> str:
    """Write a number of things."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"

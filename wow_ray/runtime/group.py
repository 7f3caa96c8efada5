"""One group in one partition: its handlers, its lanes, its share of the workers.

Handlers of a group share a checkpoint per slot and a lane per aggregate, so one aggregate's events are handled in log
order across them (H3). Live lanes and drains stand in two queues; drains get at most half of the group's permits and
alternate with live work, so neither starves (H30, H35).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from wow_ray.policy.decide import Limits
from wow_ray.policy.limiter import Limiter
from wow_ray.policy.mass import MassParks
from wow_ray.policy.outlook import Outlook
from wow_ray.runtime.lane import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from wow_ray.events import EventSpec
    from wow_ray.handlers.specs import GroupSpec, HandlerSpec
    from wow_ray.runtime.deadlines import Call
    from wow_ray.runtime.lane import Key, Lane
    from wow_ray.runtime.outages import Parked
    from wow_ray.runtime.probes import Pausing

    Turn = Callable[[Key], AbstractAsyncContextManager[None]]

TypeKey = tuple[str, str]
"""An event type: (aggregate's name, type's name)."""

WINDOW = 8_000
"""W: positions of one group that are dispatched or done and not yet committed, at most (P5, L2)."""
MAX_STATES = 10_000
"""How many folded states a group keeps for aggregates that are idle; others are folded again when needed."""


class Handler:
    """One handler, ready to be called."""

    __slots__ = (
        "aggregate",
        "blocking",
        "body_only",
        "function",
        "key_name",
        "limits",
        "lists",
        "parked",
        "plain",
        "spec",
        "subscription",
        "timeout",
        "turn",
        "wants_connection",
        "wants_context",
        "wants_state",
    )

    def __init__(
        self, spec: HandlerSpec, function: Callable[..., Any], key_name: str, turn: Turn | None = None
    ) -> None:
        """Bind the spec to the processor's function, or to one elsewhere, which has a `turn` for each aggregate.

        `key_name` is the name the subscription was first registered under (H28).
        """
        self.spec = spec
        self.function = function
        self.key_name = key_name
        self.subscription = spec.subscription
        self.aggregate = spec.aggregate
        self.turn = turn
        self.blocking = spec.blocking and turn is None
        self.body_only = spec.body_only
        self.wants_state = spec.wants_state is not None
        self.wants_connection = spec.wants_connection
        self.wants_context = spec.wants_context
        self.limits = Limits(spec.budget, spec.backpressure, spec.systemic)
        self.parked = spec.parked
        self.lists = spec.lists
        self.timeout = spec.budget.timeout
        self.plain = not (spec.blocking or spec.wants_connection or self.wants_state or turn)
        """An async handler that needs nothing but the event: the hot path."""


class Group:
    """A group's lanes and counters. Mutable and hot: plain attributes."""

    __slots__ = (
        "active",
        "aggregates",
        "catch_all",
        "ceiling",
        "closed",
        "drains",
        "drains_ceiling",
        "drains_running",
        "events",
        "failures",
        "failures_by",
        "handled",
        "handlers",
        "lanes",
        "lanes_done",
        "limit",
        "limited",
        "limiter",
        "mass",
        "name",
        "number",
        "open",
        "outlook",
        "parked",
        "pause",
        "ready",
        "resting",
        "running",
        "settled",
        "shared",
        "spec",
        "state_classes",
        "states",
        "stops",
        "stuck",
        "turn",
    )

    def __init__(
        self,
        spec: GroupSpec,
        number: int,
        handlers: Sequence[Handler],
        events: Mapping[TypeKey, EventSpec],
        ceiling: int,
    ) -> None:
        """Begin without work; `events` are all types the program knows.

        `ceiling` how many of its calls run at once here.
        """
        self.spec = spec
        self.name = spec.name
        self.number = number
        by_name = {handler.subscription: handler for handler in handlers}
        self.handlers = {key: by_name[found.subscription] for key, found in spec.types.items()}
        self.catch_all = {aggregate: by_name[found.subscription] for aggregate, found in spec.catch_all.items()}
        self.events = events
        self.shared = frozenset(key for key, spec in events.items() if spec.frozen)
        """Types whose bodies cannot be changed, so that the handlers of one read share them (H31)."""
        self.state_classes = {each: _state_classes(handlers, each) for each in spec.aggregates}
        self.aggregates = spec.aggregates
        for handler in handlers:
            handler.plain = handler.plain and handler.aggregate not in spec.aggregates
        """Aggregates of which every type is read, because a state is folded from all of them (H21)."""
        self.lanes: dict[Key, Lane] = {}
        self.ready: deque[Lane] = deque()
        self.drains: deque[Lane] = deque()
        self.ceiling = ceiling
        self.limiter = Limiter(ceiling)
        self.limit = ceiling
        """How many calls may run at once at present; `relimit` brings it in line with the limiter."""
        self.limited = False
        """Whether successes raise the limit."""
        self.drains_ceiling = max(1, ceiling // 2)
        self.running = 0
        self.drains_running = 0
        self.turn = True
        self.active = False
        """Whether the workers have it in their round."""
        self.closed = self.resting = False
        """Closed: no call begins and no page is taken, it is being reset. Resting: no lane is taken (`Rests`)."""
        self.stops: frozenset[str] = frozenset()
        """Why somebody has it stand still: no call begins, no probe either, and no page is taken (H44)."""
        self.pause: Pausing | None = None
        """While it is paused: why, since when, and whom it is tried with."""
        self.outlook: Outlook[Key, Parked] = Outlook()
        self.mass = MassParks()
        self.lanes_done = 0
        """Lanes that have done all they had: roughly the aggregates handled well, each counted anew for each burst."""
        self.open = 0
        """Positions dispatched and not yet committed as settled; at most W (P5, L2)."""
        self.settled = 0
        """Positions settled since the last commit's snapshot."""
        self.handled = self.failures = self.parked = 0
        self.failures_by: dict[str, int] = {}
        self.states: OrderedDict[tuple[type[Any], Key], tuple[int, int, Any]] = OrderedDict()
        self.stuck: dict[Key, Call] = {}
        """Aggregates whose last call has not ended in its grace period; no further call until it has (B4)."""

    def take(self) -> Lane | None:
        """Give the next lane that may run now, or `None`; a paused group gives its probe only."""
        if self.running >= self.limit or self.halted or self.resting:
            return None
        if self.pause is not None:
            return self.pause.take()
        drains, ready = self.drains, self.ready
        while drains and self.open < WINDOW and self.drains_running < self.drains_ceiling and (self.turn or not ready):
            lane = drains.popleft()
            if lane.status is Status.READY:
                self.turn = False
                return lane
        while ready:
            lane = ready.popleft()
            if lane.status is Status.READY:
                self.turn = True
                return lane
        return None

    def take_ready(self, *, failing: bool) -> Lane | None:
        """Take the next live lane that is ready and is, or is not, among those that fail; `None` = there is none."""
        known = self.outlook.failing
        for lane in self.ready:
            if lane.status is Status.READY and (lane.key in known) is failing:
                self.ready.remove(lane)
                return lane
        return None

    @property
    def paused(self) -> bool:
        """Whether its surroundings fail, so that nothing but a probe is called (D3)."""
        return self.pause is not None

    @property
    def halted(self) -> bool:
        """Whether no call may begin at all: it is being reset, or somebody has it stand still."""
        return self.closed or bool(self.stops)

    def relimit(self) -> None:
        """Bring the plain numbers, which every turn looks at, in line with the limiter."""
        self.limit = self.limiter.limit
        self.limited = self.limiter.climbing
        self.drains_ceiling = max(1, self.limit // 2)

    def did_well(self, key: Key, calls: int, began: float, now: float) -> None:
        """Take live calls of a lane that ended well into account; `began` is when the last of them did (W3, D4)."""
        outlook = self.outlook
        if outlook.alert:
            outlook.good(key, began, now)
        else:
            outlook.good_at, outlook.good_began = now, began
        if self.limited:
            self.climb(calls, now)

    def climb(self, successes: int, now: float) -> None:
        """Let successes raise the limit (D4, W6)."""
        self.limiter.succeeded(successes, now)
        self.relimit()

    def takes_page(self, room: int) -> bool:
        """Tell whether the feed may hand it events: it has at most `room` open, and is neither paused nor halted (H7).

        A paused group without a healthy aggregate at hand takes a page all the same: somebody has to be tried (W4).
        """
        if self.open > room or self.halted:
            return False
        return self.pause is None or len(self.ready) <= len(self.outlook.failing)

    def has_work(self) -> bool:
        """Tell whether `take` could give a lane once permits allow it."""
        if self.halted or self.resting:
            return False
        if self.pause is not None:
            return self.pause.ready is not None
        return bool(self.ready or self.drains)

    def subscriptions(self) -> set[str]:
        """Name the group's subscriptions that this program has handlers for."""
        return {handler.subscription for handler in (*self.handlers.values(), *self.catch_all.values())}

    def handler_of(self, aggregate: str, type_name: str) -> Handler | None:
        """Give the handler that takes events of this type, or `None`."""
        return self.handlers.get((aggregate, type_name)) or self.catch_all.get(aggregate)

    def wants(self, aggregate: str, type_name: str) -> bool:
        """Tell whether events of this type come into the group's lanes, to be handled or only folded."""
        return (aggregate, type_name) in self.handlers or aggregate in self.aggregates

    def remember_state(self, cls: type[Any], key: Key, version: int, sequence: int, state: object) -> None:
        """Keep the state as of that event, forgetting the one unused for longest when there are too many."""
        states = self.states
        states[cls, key] = (version, sequence, state)
        states.move_to_end((cls, key))
        if len(states) > MAX_STATES:
            states.popitem(last=False)

    def forget_states(self, key: Key) -> None:
        """Fold the aggregate's states anew when next wanted."""
        for cls in self.state_classes.get(key[0], ()):
            self.states.pop((cls, key), None)


def _state_classes(handlers: Sequence[Handler], aggregate: str) -> tuple[type[Any], ...]:
    """List the states that handlers of an aggregate want, each once."""
    wanted = (handler.spec.wants_state for handler in handlers if handler.aggregate == aggregate)
    return tuple({cls: None for cls in wanted if cls is not None})

"""The checker: what was seen, written and told is compared with the log, event by event."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from examples.shop.demo.blow import BOUND, Blow
from examples.shop.demo.customers import Plan
from examples.shop.demo.journal import Place
from examples.shop.demo.witness import Key, Repeat, Witness
from examples.shop.shop import OrderPaid, OrderShipped, StockReceived, parcel
from examples.shop.world import World
from wow_ray.events import StoredEvent
from wow_ray.handlers.specs import AppSpec

UNCOMMITTED = 5.0
"""Seconds before a kill within which what was handled may not have been committed: 0.1, on a machine with nothing
else to do."""

Skipped = frozenset[Key]
"""What an operator passed over."""


class Finding(NamedTuple):
    """One claim, whether it holds, and the numbers behind it."""

    claim: str
    holds: bool
    numbers: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the checker looks at, once all is at rest.

    `log` is each aggregate's stream as it lies in the store, `sales` (cents, parcels, shipped) by order and `stock`
    (level) by article what the projections wrote. The last two are seen when the shop opens again with nothing new:
    what the store says is `left` to do (events not read, aggregates held), and how often handlers were called.
    """

    plan: Plan
    spec: AppSpec
    log: Sequence[StoredEvent]
    witness: Witness
    world: World
    blow: Blow
    skipped: Skipped
    sales: Mapping[str, tuple[int, int, int]]
    stock: Mapping[str, int]
    left: int = 0
    calls_after_restart: int = 0

    def wanted(self) -> Mapping[str, Sequence[Place]]:
        """Give the events each subscription has to handle, in the order of the log."""
        wanted: dict[str, list[Place]] = {handler.subscription: [] for handler in self.spec.handlers()}
        for event in self.log:
            for group in self.spec.groups:
                handler = group.handler(event.aggregate, event.type)
                if handler is not None and event.type in handler.events:
                    wanted[handler.subscription].append(place_of(event))
        return wanted


def place_of(event: StoredEvent) -> Place:
    """Say which event it is."""
    return Place(event.aggregate, event.aggregate_id, event.version, event.sequence)


def prove(evidence: Evidence) -> list[Finding]:
    """Check every claim; the demo is good when all hold."""
    checks = (_appended, _handled, _ordered, _recovered, _repeats, _sales, _stock, _outside, _restarted)
    return [check(evidence) for check in checks]


def _appended(evidence: Evidence) -> Finding:
    """Compare the log with the plan: what was appended from outside, and one shipment for each parcel."""
    plan, log = evidence.plan, evidence.log
    asked = Counter((commit.ref.aggregate, commit.ref.id) for commit in plan.commits() for _ in commit.events)
    stored = Counter((event.aggregate, event.aggregate_id) for event in log if event.type != "order_shipped")
    parcels = Counter(commit.ref.id for commit in plan.commits() if commit.ref.aggregate == parcel.name)
    shipped = Counter(_shipment(event).parcel for event in log if event.type == "order_shipped")
    holds = stored == asked and shipped == parcels
    return Finding("the log holds every event once", holds, f"{len(log)} of {plan.events()} events")


def _handled(evidence: Evidence) -> Finding:
    """See that every event was handled by every handler that takes it, but for those that an operator passed over."""
    first = evidence.witness.first.keys()
    wanted = {(subscription, place) for subscription, places in evidence.wanted().items() for place in places}
    missing, strange = wanted - first - evidence.skipped, first - wanted
    both = evidence.skipped & first
    numbers = f"{len(first)} handled + {len(evidence.skipped)} skipped of {len(wanted)}"
    if missing:
        numbers += f"; {len(missing)} missing, as {_some(missing)}"
    if strange or both:
        numbers += f"; {len(strange)} never in the log, {len(both)} both skipped and handled"
    return Finding("every handler saw every event meant for it", not (missing or strange or both), numbers)


def _ordered(evidence: Evidence) -> Finding:
    """See that a group began no event of an aggregate before the one before it was handled, across its handlers."""
    groups = {handler.subscription: group.name for group in evidence.spec.groups for handler in group.handlers}
    streams: dict[tuple[str, str, str], list[tuple[int, int, int, int]]] = defaultdict(list)
    witness = evidence.witness
    for (subscription, place), (handled, _) in witness.first.items():
        times = (witness.began[subscription, place], handled)
        streams[groups[subscription], place.aggregate, place.id].append((place.version, place.sequence, *times))
    wrong = [stream for stream, events in streams.items() if _inverted(sorted(events))]
    numbers = f"{len(streams)} streams of events, {len(wrong)} out of order"
    return Finding("each aggregate's events in the order of their versions", not wrong, numbers)


def _inverted(events: Sequence[tuple[int, int, int, int]]) -> bool:
    """Tell whether one began before the one before it was handled."""
    return any(later[2] <= earlier[3] for earlier, later in pairwise(events))


def _recovered(evidence: Evidence) -> Finding:
    """See that the killed process was replaced, and its slots went on."""
    blow = evidence.blow
    numbers = f"after {blow.seconds:.1f} s it handled, the others {blow.meanwhile} meanwhile"
    holds = blow.successor not in {0, blow.pid} and blow.seconds <= BOUND
    return Finding("for a killed process another one went on", holds, numbers)


def _repeats(evidence: Evidence) -> Finding:
    """Judge the repeats: allowed is what the killed process had handled and not committed yet, nothing else."""
    slots = {place_of(event): event.slot for event in evidence.log}
    repeats = evidence.witness.repeats
    strange = [each for each in repeats if not _excused(each, slots[each.first.place], evidence.blow)]
    numbers = f"{len(repeats)} repeats, {len(strange)} of anything else"
    return Finding("repeated was only what it had not committed", not strange, numbers)


def _excused(repeat: Repeat, slot: int, blow: Blow) -> bool:
    """Tell whether the kill explains a repeat: its slots, and a first success shortly before, or as it was noticed."""
    return slot in blow.slots and -UNCOMMITTED <= repeat.first.at - blow.at <= blow.seconds


def _sales(evidence: Evidence) -> Finding:
    """Compare the table of sales with the log, order by order."""
    expected: dict[str, tuple[int, int, int]] = {}
    for event in evidence.log:
        if event.type == "order_paid":
            paid = OrderPaid.model_validate_json(event.payload)
            expected[event.aggregate_id] = (sum(line.cents for line in paid.lines), paid.parcels, 0)
        elif event.type == "order_shipped":
            cents, parcels, shipped = expected[event.aggregate_id]
            expected[event.aggregate_id] = (cents, parcels, shipped + 1)
    cents = sum(row[0] for row in expected.values())
    shown = sum(row[0] for row in evidence.sales.values())
    numbers = f"{len(evidence.sales)} orders, {shown / 100:,.2f} of {cents / 100:,.2f}"
    return Finding("the sales are the sums of the log, order by order", evidence.sales == expected, numbers)


def _stock(evidence: Evidence) -> Finding:
    """Compare the levels of stock with the log, article by article."""
    expected: Counter[str] = Counter()
    for event in evidence.log:
        if event.type == "stock_received":
            expected[event.aggregate_id] += StockReceived.model_validate_json(event.payload).quantity
        elif event.type == "order_paid":
            for line in OrderPaid.model_validate_json(event.payload).lines:
                expected[line.article] -= line.quantity
    numbers = f"{len(evidence.stock)} articles, {sum(evidence.stock.values())} of {expected.total()} pieces"
    return Finding("the stock is the sum of the log, article by article", evidence.stock == dict(expected), numbers)


def _outside(evidence: Evidence) -> Finding:
    """Compare what the outside did with what it was to do: one parcel collected, one message sent for each event."""
    wanted = evidence.wanted()
    skipped = {place for _, place in evidence.skipped}
    parcels = Counter(place.id for place in wanted["ParcelDesk.on_parcel_packed"])
    told = len(set(wanted["ShipmentNotifier.on_order_shipped"]) - skipped)
    collected = Counter(call.about for call in evidence.world.depot.calls.all if call.answer == "done")
    messages = Counter(call.key for call in evidence.world.mail.calls.all if call.answer == "done")
    holds = collected == parcels and len(messages) == messages.total() == told
    numbers = f"{collected.total()} parcels collected, {messages.total()} messages sent"
    return Finding("the outside was asked for each thing once", holds, numbers)


def _restarted(evidence: Evidence) -> Finding:
    """See that all of it is known to be done: nothing is parked, nothing unread, and a restart calls nobody."""
    left, calls = evidence.left, evidence.calls_after_restart
    return Finding("opened again, it knows that all is done", left == calls == 0, f"{left} left, {calls} calls")


def _shipment(event: StoredEvent) -> OrderShipped:
    return OrderShipped.model_validate_json(event.payload)


def _some(places: Iterable[Key]) -> str:
    subscription, place = min(places)
    return f"{subscription} of {place.aggregate}/{place.id}@{place.version}:{place.sequence}"

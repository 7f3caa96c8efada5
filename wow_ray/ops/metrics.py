"""What Prometheus is told, read off the store and off what partitions say of themselves; no actor is asked.

Labels are names that a program declares (groups, functions, webhooks, partitions) and fixed words, never ids of
aggregates or texts: so many series as there are handlers, however much happens. What a partition counts begins anew
with its process, as counters may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from wow_ray.ops.operations import Operations
from wow_ray.ops.progress import GroupView, StatusView

PREFIX = "wow_ray_"
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one store at once; `deliveries` by webhook and state, `calls` by function and state."""

    status: StatusView
    groups: Sequence[GroupView]
    deliveries: Counts
    calls: Counts


async def seen(operations: Operations) -> Seen:
    """Look; raises what the store raises."""
    return Seen(
        await operations.overview(),
        await operations.subscriptions(),
        await operations.notices.counts(),
        await operations.calls.counts(),
    )


def exposed(what: Seen) -> bytes:
    """Write it in Prometheus's text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(tuple(_families(what))))
    return generate_latest(registry)


class _Fixed(Collector):
    """Metrics that are as they are."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Give them."""
        yield from self._families


class _Page:
    """Makes metrics, all of them with the context as their first label."""

    def __init__(self, context: str) -> None:
        self._context = context

    def gauge(self, name: str, said: str, values: Mapping[Any, float], *labels: str) -> Metric:
        """Make a gauge."""
        made = GaugeMetricFamily(PREFIX + name, said, labels=("context", *labels))
        for key, value in values.items():
            made.add_metric((self._context, *key), value)
        return made

    def counter(self, name: str, said: str, values: Mapping[Any, float], *labels: str) -> Metric:
        """Make a counter; its name ends in `_total`."""
        made = CounterMetricFamily(PREFIX + name, said, labels=("context", *labels))
        for key, value in values.items():
            made.add_metric((self._context, *key), value)
        return made


def _families(what: Seen) -> Iterator[Metric]:
    """Give all metrics."""
    page = _Page(what.status.context)
    yield from _of_the_store(page, what.status)
    yield from _of_groups(page, [group for group in what.groups if not group.retired])
    yield from _of_parts(page, [group for group in what.groups if not group.retired])
    yield from _of_partitions(page, what.status)
    deliveries = {(name, state): count for name, states in what.deliveries.items() for state, count in states.items()}
    calls = {(name, state): count for name, states in what.calls.items() for state, count in states.items()}
    yield page.gauge(
        "notice_deliveries", "Deliveries to webhooks that are kept.", _floats(deliveries), "webhook", "state"
    )
    yield page.gauge("durable_calls", "Durable calls that are not over.", _floats(calls), "function", "state")


def _of_the_store(page: _Page, status: StatusView) -> Iterator[Metric]:
    """Give what is so of the whole store."""
    owned = status.slots - len(status.unowned)
    healthy = status.ready and not status.troubles
    yield page.gauge("ready", "1 = every slot has an owner whose lease holds.", {(): status.ready})
    yield page.gauge("healthy", "1 = ready, and no partition is in trouble.", {(): healthy})
    yield page.gauge("slots", "Slots of the log.", {(): status.slots})
    yield page.gauge("slots_owned", "Slots whose owner's lease holds.", {(): owned})
    yield page.gauge("slots_to_move", "Moves until everybody owns what the plan names.", {(): len(status.moves)})
    rows = {(size.name,): float(size.rows) for size in status.sizes}
    sizes = {(size.name,): float(size.bytes) for size in status.sizes}
    yield page.gauge("table_rows", "Rows, as the last ANALYZE counted them.", rows, "table")
    yield page.gauge("table_bytes", "Bytes with indexes.", sizes, "table")
    oldest = max((each.seconds for each in status.holders), default=0.0)
    yield page.gauge("oldest_snapshot_seconds", "Age of the oldest snapshot that the store must keep.", {(): oldest})
    kept = max((float(each.bytes) for each in status.holders), default=0.0)
    yield page.gauge("replication_kept_bytes", "Log that the slowest replication slot keeps.", {(): kept})


def _of_groups(page: _Page, groups: Sequence[GroupView]) -> Iterator[Metric]:
    """Give what the store knows of each group."""
    lag = {(group.group,): float(group.lag) for group in groups}
    unfinished = {(group.group,): float(group.unfinished) for group in groups}
    ages = {(group.group,): 0.0 if group.oldest is None else group.oldest.age for group in groups}
    rows = {(group.group, state): float(count) for group in groups for state, count in group.open_rows.items()}
    pauses: dict[tuple[str, ...], float] = {}
    for group in groups:
        for pause in group.pauses:
            key = (group.group, pause.reason)
            pauses[key] = pauses.get(key, 0.0) + 1
    yield page.gauge("group_lag_events", "Positions not read yet.", lag, "group")
    yield page.gauge(
        "group_unfinished_events", "Positions read and not finished at the last commit.", unfinished, "group"
    )
    yield page.gauge("group_oldest_unfinished_seconds", "Age of the longest waiting event.", ages, "group")
    yield page.gauge("ledger_rows", "Open rows of the failure ledger.", rows, "group", "state")
    yield page.gauge("group_pauses", "Pauses that are present.", pauses, "group", "reason")


def _of_parts(page: _Page, groups: Sequence[GroupView]) -> Iterator[Metric]:
    """Give what each partition says of each group."""
    parts = {
        (group.group, part.partition): part for group in groups if group.live is not None for part in group.live.parts
    }
    names = ("group", "partition")
    handled = {key: float(part.handled) for key, part in parts.items()}
    failed = {key: float(part.failed) for key, part in parts.items()}
    parked = {key: float(part.parked) for key, part in parts.items()}
    yield page.counter("handled_events", "Events handled since the partition started.", handled, *names)
    yield page.counter("failed_attempts", "Attempts that failed since the partition started.", failed, *names)
    yield page.counter("parked_aggregates", "Parks since the partition started.", parked, *names)
    running = {key: float(part.running) for key, part in parts.items()}
    limit = {key: float(part.limit) for key, part in parts.items()}
    share = {key: float(part.share) for key, part in parts.items()}
    failing = {key: float(part.failing) for key, part in parts.items()}
    yield page.gauge("running_calls", "Calls under way.", running, *names)
    yield page.gauge("limit_calls", "Calls that may run at once at present.", limit, *names)
    yield page.gauge("share_calls", "Calls that may run at once when all is well.", share, *names)
    yield page.gauge("failing_aggregates", "Aggregates that fail at present.", failing, *names)


def _of_partitions(page: _Page, status: StatusView) -> Iterator[Metric]:
    """Give what each partition says of itself."""
    alive = {(each.partition,): 0.0 for each in status.partitions}
    alive |= {(each.partition,): 1.0 for each in status.partitions if each.alive}
    yield page.gauge("partition_alive", "1 = its lease holds.", alive, "partition")
    live = {(each.partition,): each.live for each in status.partitions if each.live is not None}
    values = {
        "report_age_seconds": ("Since it has last said anything.", {key: each.age for key, each in live.items()}),
        "up_seconds": ("Since it started.", {key: each.up for key, each in live.items()}),
        "uncommitted_seconds": (
            "For which something waits to be committed.",
            {k: e.uncommitted for k, e in live.items()},
        ),
        "loop_lag_seconds": ("Longest that its loop kept anybody waiting.", {k: e.loop_lag for k, e in live.items()}),
        "late_seconds": (
            "How overdue its latest loop is.",
            {key: max(each.late.values(), default=0.0) for key, each in live.items()},
        ),
        "lost_workers": ("Workers lost to calls that do not end.", {k: float(e.replaced) for k, e in live.items()}),
    }
    for name, (said, found) in values.items():
        yield page.gauge(f"partition_{name}", said, found, "partition")
    gates = {(*key, gate): 1.0 for key, each in live.items() for gate in each.gates}
    yield page.gauge("partition_gate_closed", "1 = no call begins, for that reason.", gates, "partition", "gate")


def _floats(counts: Mapping[tuple[str, str], int]) -> Mapping[tuple[str, ...], float]:
    return {key: float(count) for key, count in counts.items()}

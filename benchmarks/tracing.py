"""What spans cost: one partition reads a log untraced, traced with none of its spans sampled, and with all of them.

The SDK is the real one, with its batches; they go to an exporter that drops them, since what a collector costs is its
own matter. The handler does next to nothing, so each figure is the price of a span beside an event of some 20 µs: a
handler that works for a millisecond makes a fraction of it. Runs alternate, and medians are compared by time on a core.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from benchmarks.catch_up import Measured, run_readers
from benchmarks.report import Bar, Options, Report, console
from benchmarks.servers import fresh_database, server_version
from benchmarks.workload import CONTEXT, Bookings, load

ROUNDS = 5
TRACED = {"WOW_RAY_TRACING": "true"}


class Dropped(SpanExporter):
    """Takes spans and counts them."""

    def __init__(self) -> None:
        """Nothing was taken yet."""
        self.taken = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take some."""
        self.taken += len(spans)
        return SpanExportResult.SUCCESS


class Switched(Sampler):
    """Samples as another sampler does, which is exchanged between runs: a process has one provider for good."""

    def __init__(self) -> None:
        """Sample nothing at first."""
        self.by: Sampler = ALWAYS_OFF

    def should_sample(  # noqa: PLR0917 - the form of a sampler
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Ask the other one."""
        return self.by.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        """Name it."""
        return "switched"


async def run(options: Options) -> Report:
    """Measure the three in turn."""
    events = options.size(50_000, 200_000)
    sampler, exporter = Switched(), Dropped()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    ways: dict[str, tuple[dict[str, str], Sampler]] = {
        "untraced": ({}, ALWAYS_OFF),
        "none_sampled": (TRACED, ALWAYS_OFF),
        "all_sampled": (TRACED, ALWAYS_ON),
    }
    turns: dict[str, list[Measured]] = {name: [] for name in ways}
    async with fresh_database(CONTEXT) as database:
        await load(database, Bookings(options.seed, events // 10), events - 1)
        for turn in range(ROUNDS):
            for name, (environ, by) in ways.items():
                sampler.by = by
                measured, _ = await run_readers(database, f"{turn}{name}", 1, events, environ)
                turns[name].append(measured)
            console.print(", ".join(f"{name} {each[-1].microseconds:.1f} µs" for name, each in turns.items()))
        postgres = await server_version(database)
    provider.shutdown()
    costs = {name: median(each.microseconds for each in found) for name, found in turns.items()}
    figures = {f"{name}_core_us_per_event": cost for name, cost in costs.items()}
    for name in ("none_sampled", "all_sampled"):
        pairs = zip(turns[name], turns["untraced"], strict=True)
        figures[f"{name}_costs_us_per_event"] = costs[name] - costs["untraced"]
        figures[f"{name}_throughput_ratio"] = median(mine.rate / plain.rate for mine, plain in pairs)
    figures["spans_exported_count"] = float(exporter.taken)
    bars = {"spans": Bar("spans_exported_count", ">=", 1)}
    workload = f"{events:,} events read by one handler that does nothing, {ROUNDS} rounds; a span for each call"
    return Report("tracing", workload, options.seed, postgres, figures, bars)

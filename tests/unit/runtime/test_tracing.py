"""Spans of attempts, drains and commits, where tracing is asked for, and nothing of it where it is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.unit.ops_window import Carrier, Placed, made_app, order
from wow_ray import App, Event, on_event
from wow_ray.runtime.service import Service
from wow_ray.runtime.tracing import COMMIT, DRAIN, Tracing
from wow_ray.settings import load
from wow_ray.testing import Scenario

HANDLER = "Notifier.on_placed"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Have every scenario of the test traced; gives where its spans end up."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider.get_tracer("test"))
    monkeypatch.setattr("wow_ray.testing.scenario.Service", partial(Service, tracing=tracing))
    return exporter


def named(spans: InMemorySpanExporter, name: str) -> Sequence[ReadableSpan]:
    """Give the finished spans of a name."""
    return [span for span in spans.get_finished_spans() if span.name == name]


async def test_every_attempt_is_a_span_that_says_of_what_and_how_it_ended(spans: InMemorySpanExporter) -> None:
    """Tracing: with the invocation key, by which all attempts of one call are found."""
    carrier = Carrier()
    carrier.broken.add("o-1")
    async with Scenario(made_app(), {Carrier: carrier}) as running:
        for each in ("o-1", "o-2"):
            await running.store.append(order(each), [Placed()], expected_version=0)
        await running.advance("1s")

    found = [(dict(span.attributes or {}), span.status.is_ok) for span in named(spans, HANDLER)]
    of_one = [(told["wow_ray.attempt"], fine) for told, fine in found if told["wow_ray.aggregate_id"] == "o-1"]
    assert of_one == [(1, False), (2, False)]
    (other,) = [told for told, fine in found if told["wow_ray.aggregate_id"] == "o-2" and fine is not False]
    assert other == {
        "wow_ray.subscription": HANDLER,
        "wow_ray.aggregate": "order",
        "wow_ray.aggregate_id": "o-2",
        "wow_ray.invocation_key": f"{HANDLER}:o-2@1:0",
        "wow_ray.attempt": 1,
    }
    failed = next(span for span in named(spans, HANDLER) if not span.status.is_ok)
    assert failed.events[0].name == "exception"


async def test_what_a_handler_does_lies_below_its_own_span_and_no_other(spans: InMemorySpanExporter) -> None:
    """H31: the span is current in the handler's context, also after it has waited, and leaks into no other call."""
    seen: list[tuple[str, int, int]] = []
    app = App("shop")

    @app.reactor(start="beginning")
    class Notifier:
        @on_event
        async def on_placed(self, event: Event[Placed]) -> None:
            before = trace.get_current_span().get_span_context().span_id
            await running.clock.sleep(0.1)
            seen.append((event.ref.id, before, trace.get_current_span().get_span_context().span_id))

    async with Scenario(app) as running:
        for each in ("o-1", "o-2", "o-3"):
            await running.store.append(order(each), [Placed()], expected_version=0)
        await running.advance("1s")

    ids = {str((span.attributes or {})["wow_ray.aggregate_id"]): span.context.span_id for span in named(spans, HANDLER)}
    assert {each: (before, after) for each, before, after in seen} == {each: (one, one) for each, one in ids.items()}
    assert len(set(ids.values())) == 3
    assert all(span.parent is None for span in named(spans, HANDLER))


async def test_an_attempt_is_linked_to_the_trace_of_the_append(spans: InMemorySpanExporter) -> None:
    """Tracing: `traceparent` among the event's headers, as producers' libraries write it; nonsense there is nothing."""
    async with Scenario(made_app(), {Carrier: Carrier()}) as running:
        for each, parent in (("o-1", PARENT), ("o-2", "nonsense")):
            headers = {"traceparent": parent}
            await running.store.append(order(each), [Placed()], expected_version=0, headers=headers)
        await running.advance("1s")

    links = {str((span.attributes or {})["wow_ray.aggregate_id"]): span.links for span in named(spans, HANDLER)}
    assert [f"{link.context.trace_id:032x}" for link in links["o-1"]] == [PARENT.split("-")[1]]
    assert list(links["o-2"]) == []


async def test_commits_and_reads_of_drains_are_spans(spans: InMemorySpanExporter) -> None:
    """Tracing: where time goes that is not the handler's."""
    carrier = Carrier()
    carrier.broken.add("o-1")
    async with Scenario(made_app(), {Carrier: carrier}) as running:
        await running.store.append(order("o-1"), [Placed()], expected_version=0)
        await running.advance("1s")
        assert named(spans, DRAIN) == []
        carrier.broken.clear()
        (parked,) = await running.parked()
        await running.resume(parked, reason="fixed")
        await running.advance("1s")

    assert any((span.attributes or {})["wow_ray.ledger_rows"] == 1 for span in named(spans, COMMIT))
    first = dict(named(spans, DRAIN)[0].attributes or {})
    assert first == {"wow_ray.aggregates": 1, "wow_ray.events": 1}


async def test_blocking_handlers_are_traced_as_well(spans: InMemorySpanExporter) -> None:
    """B5: on their thread."""
    app = App("shop")
    seen = []

    @app.reactor(start="beginning")
    class Notifier:
        @on_event
        def on_placed(self, body: Placed) -> None:
            seen.append((body, trace.get_current_span().get_span_context().span_id))

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [Placed()], expected_version=0)
        await running.advance("1s")

    (span,) = named(spans, HANDLER)
    assert seen == [(Placed(), span.context.span_id)]


def test_nothing_of_it_is_imported_unless_it_is_asked_for() -> None:
    """Tracing: no cost when it is not set up; `tracing = true` in the settings asks for it."""
    program = (
        "import sys, wow_ray.cluster, wow_ray.housekeeping as house; from wow_ray.settings import load;"
        "assert house.traced(load(None, None, {})) is None;"
        "assert 'opentelemetry' not in sys.modules and 'aiohttp' not in sys.modules, 'imported'"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert load(None, None, {"WOW_RAY_TRACING": "true"}).tracing

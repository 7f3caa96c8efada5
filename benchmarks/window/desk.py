"""What an operator asks of the full ledger, over the API with its JSON, one after the other, timed one by one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from statistics import median
from urllib.parse import urlencode

import httpx

from benchmarks.report import console
from benchmarks.window.filling import DUE, HANDLERS, RARE_VERSION, SLOTS
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database, open_client_stores
from wow_ray.cluster import open_operations
from wow_ray.ops import Operations
from wow_ray.ops.http import api
from wow_ray.ports.durable_calls import Wanted

FILTERS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "state": {"state": "exhausted"},
    "ended": {"state": "resolved"},
    "group": {"group": "Group1"},
    "subscription": {"subscription": "Handler7.on_paid"},
    "aggregate": {"aggregate": "payment"},
    "aggregate_id": {"aggregate_id": "a-4711"},
    "reason": {"reason": "operator"},
    "category": {"category": "unrecoverable"},
    "error": {"error": "f-200"},
    "error_type": {"error_type": "shop.errors.Error39"},
    "version": {"stopped_version": str(RARE_VERSION)},
    "text": {"text": "ANSWER WAS 200 and"},
    "text_nowhere": {"text": "there is no such text"},
    "nothing": {"group": "Group1", "category": "unrecoverable", "aggregate": "shipment", "reason": "operator"},
    "newest": {"sort": "newest"},
}
CLAIMED = 100


@asynccontextmanager
async def window(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Open the API on the store, in this process."""
    async with open_operations(database) as operations:

        @asynccontextmanager
        async def opened() -> AsyncIterator[Operations]:
            yield operations

        transport = httpx.ASGITransport(api(opened))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            yield client


async def looks(database: Database, rounds: int) -> dict[str, float]:
    """Time every list, group, count and page; gives the slowest filter of each kind, its p95 and its median, in ms.

    On a machine that others use as well, look at the median: a p95 is that of waiting for a core.
    """
    worst: dict[str, tuple[float, str]] = {}
    usual: dict[str, float] = {}
    async with window(database) as client:
        asked = [
            (kind, name, f"/api/v1/parked{path}?{urlencode(given)}")
            for kind, path in (("list", ""), ("groups", "/groups"), ("count", "/count"))
            for name, given in FILTERS.items()
        ]
        asked += [("deep_page", "after", "/api/v1/parked?after=r-000050000"), ("calls", "all", "/api/v1/calls")]
        asked += [
            ("overview_page", "all", "/"),
            ("overview", "all", "/api/v1/overview"),
            ("metrics", "all", "/metrics"),
        ]
        for kind, name, path in asked:
            taken = []
            (await client.get(path)).raise_for_status()  # the first opens what is kept open
            for _ in range(rounds):
                began = time.perf_counter()
                answer = await client.get(path)
                taken.append((time.perf_counter() - began) * 1e3)
                answer.raise_for_status()
            p95 = percentile(taken)
            console.print(f"{kind} {name}: {median(taken):.1f} ms, p95 {p95:.1f} ms")
            usual[kind] = max(usual.get(kind, 0.0), median(taken))
            worst[kind] = max(worst.get(kind, (0.0, "")), (p95, name))
    console.print(f"slowest: {worst}")
    found = {f"{kind}_median_ms": each for kind, each in usual.items()}
    return found | {f"{kind}_p95_ms": p95 for kind, (p95, _) in worst.items()}


async def claims(database: Database, rounds: int) -> dict[str, float]:
    """Time finding a hundred parked rows that are due, and claiming a hundred due calls."""
    handlers = [f"Handler{number}.on_paid" for number in range(HANDLERS)]
    wanted = [Wanted(f"function{number}", CLAIMED) for number in range(HANDLERS)]
    due, claimed = [], []
    async with open_client_stores(database, SystemClock()) as client:
        await client.ledger.due(range(SLOTS), handlers, 1)  # the first opens what is kept open
        await client.calls.claim("bench", wanted[:1], 1, 30.0)
        for _ in range(min(rounds, DUE // CLAIMED - 1)):
            began = time.perf_counter()
            rows = await client.ledger.due(range(SLOTS), handlers, CLAIMED)
            due.append((time.perf_counter() - began) * 1e3)
            began = time.perf_counter()
            calls = await client.calls.claim("bench", wanted, CLAIMED, 30.0)
            claimed.append((time.perf_counter() - began) * 1e3)
            if (len(rows), len(calls)) != (CLAIMED, CLAIMED):
                raise RuntimeError(f"{len(rows)} rows and {len(calls)} calls instead of {CLAIMED} that are due")
    return {
        "due_rows_median_ms": median(due),
        "due_rows_p95_ms": percentile(due),
        "claim_calls_median_ms": median(claimed),
        "claim_calls_p95_ms": percentile(claimed),
    }


def percentile(taken: list[float], share: float = 0.95) -> float:
    """Give the value that this share of all does not exceed."""
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * share))]

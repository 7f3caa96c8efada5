"""A ledger as it looks after a bad night: many parked rows, of few errors, of some handlers; and as many durable calls.

The rows are written by the database from numbers, since parking a million aggregates one by one would take hours. What
is so written is of the shapes that a program writes: texts, a traceback of half a kilobyte, times, next tries.
"""

from __future__ import annotations

import time

from benchmarks.report import console
from benchmarks.servers import connected
from wow_ray.adapters.postgres import Database

ERRORS, TYPES, HANDLERS, SLOTS = 240, 40, 12, 64
DUE = 5_000
"""Rows, and calls, whose next try is due."""
RARE_VERSION = 77_777
"""The version at which ten rows stopped."""

_ROWS = """
INSERT INTO {schema}.parked (
    id, group_name, subscription, slot, aggregate, aggregate_id, state, reason, stopped_version,
    stopped_sequence, stopped_position, attempts, backpressure, retries, next_due, begun, told, etag,
    parked_at, updated_at,
    category, source, type, message, traceback, fingerprint)
SELECT 'r-' || lpad(n::text, 9, '0'), 'Group' || h / 3, 'Handler' || h || '.on_paid', n %% {slots},
    (ARRAY['order', 'payment', 'shipment'])[1 + n %% 3], 'a-' || n,
    CASE WHEN n %% 100 < 90 THEN 'parked' WHEN n %% 100 < 98 THEN 'exhausted' ELSE 'retrying' END,
    (ARRAY['budget_spent', 'unrecoverable', 'operator'])[1 + (n %% 50 = 0)::int + (n %% 1000 = 0)::int],
    CASE WHEN n %% ($3 / 10) = 7 THEN {rare} ELSE 1 + n %% 50 END,
    0, n, 5, 0, n %% 9,
    now() + CASE WHEN n %% ($3 / {due}) = 0 THEN interval '-1 minute' ELSE make_interval(secs => 3600 + n %% 86400) END,
    false, true, 2, now() - make_interval(secs => ($3 - n) / 100.0), now() - make_interval(secs => ($3 - n) / 200.0),
    (ARRAY['recoverable', 'systemic', 'unrecoverable'])[1 + e %% 3], 'default', 'shop.errors.Error' || e %% {types},
    'no carrier for a-' || n || ': the answer was ' || e || ' and nobody knows why that should be so',
    repeat('  File "shop/handlers.py", line 12, in on_paid' || chr(10), 20), 'f-' || e
FROM (
    SELECT n, e, e %% {handlers} AS h FROM (
        SELECT n, floor({errors} * power(((n::bigint * 7919) %% 100003) / 100003.0, 3))::int AS e
        FROM generate_series($1::int, $2::int) AS n
    ) AS numbered
) AS made
"""

_CALLS = """
INSERT INTO {schema}.durable_calls (id, function, payload, priority, state, due, attempts, spent, fingerprint)
SELECT 'c-' || lpad(n::text, 9, '0'), 'function' || n %% {handlers}, '{{"order": "a-' || n || '"}}', n %% 10,
    CASE WHEN n %% 10 = 0 THEN 'exhausted' ELSE 'waiting' END,
    now() + CASE WHEN n %% ($3 / {due}) = 1 THEN interval '-1 minute' ELSE make_interval(secs => 3600 + n %% 86400) END,
    1, 1, 'f-' || n %% {errors}
FROM generate_series($1::int, $2::int) AS n
"""
CHUNK = 50_000


async def fill(database: Database, rows: int) -> None:
    """Write so many rows and as many calls, and let the database look at them as it does by itself in time."""
    values = {
        "schema": database.schema,
        "slots": SLOTS,
        "rare": RARE_VERSION,
        "due": DUE,
        "types": TYPES,
        "handlers": HANDLERS,
        "errors": ERRORS,
    }
    for name, text in (("parked rows", _ROWS), ("durable calls", _CALLS)):
        started = time.monotonic()
        sql = text.format(**values).replace("%%", "%")
        async with connected(database) as connection:
            for first in range(0, rows, CHUNK):
                await connection.execute(sql, first, min(first + CHUNK, rows) - 1, rows)
        console.print(f"{rows:,} {name} in {time.monotonic() - started:.0f} s")
    async with connected(database) as connection:
        await connection.execute("vacuum analyze")

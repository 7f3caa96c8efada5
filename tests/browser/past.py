"""An hour that a shop might have had, written where samples are kept: what charts are looked at with."""

from __future__ import annotations

import math

import asyncpg

MINUTES = 60
AWAY = range(20, 26)
"""Minutes in which the app did not run."""

INSERT = """
INSERT INTO "{schema}".samples
SELECT date_bin('15 seconds', clock_timestamp(), 'epoch') - make_interval(secs => $1), g.number,
    $2, $3, $4, $5, 15, $6, $7, $8, $9, $10
FROM "{schema}".groups g WHERE g.name = $11 ON CONFLICT DO NOTHING
"""


async def an_hour(dsn: str, schema: str) -> None:
    """Write it in place of what there is: an outage of the carrier with what it parks, and a time without the app."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f'DELETE FROM "{schema}".samples')  # noqa: S608 - a name of ours
        await connection.executemany(INSERT.format(schema=schema), list(_rows()))
    finally:
        await connection.close()


def _rows() -> list[tuple[object, ...]]:
    """Give one row each fifteen seconds."""
    rows: list[tuple[object, ...]] = []
    for number in range(1, MINUTES * 4):
        minute = MINUTES - number / 4
        if int(minute) in AWAY:
            continue
        wave = 1 + 0.25 * math.sin(minute / 4) + 0.1 * math.sin(minute * 3)
        outage = max(0.0, 1 - abs(minute - 42) / 6)
        handled, lag = int(900 * wave * (1 - 0.8 * outage)), int(40 * wave + 2_600 * outage)
        parked = round(min(7, max(0.0, minute - 38) / 2))
        unknown = 2 if minute > 38 and number % 9 == 0 else 0
        failures = (unknown, int(6 * wave + 14 * outage), int(60 * outage), int(4 * wave))
        rows.append((number * 15.0, lag, int(20 * wave), parked, 0, handled, *failures, "Shipping.on_order_paid"))
        rows.append((number * 15.0, 0, 2, int(minute > 50) * 2, int(minute > 50) * 2, handled, 0, 0, 0, 0, "Sales"))
    return rows

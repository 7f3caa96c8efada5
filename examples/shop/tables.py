"""`python tables.py`: make the shop's tables where its log lies.

That is on the private Postgres that `wow-ray dev shop:app` runs meanwhile, or where `WOW_RAY_POSTGRES_DSN` says.
"""

import asyncio
import os
import sys
from pathlib import Path

import asyncpg

from wow_ray import WowError
from wow_ray.cluster import database_of
from wow_ray.settings import load

TABLES = Path(__file__).with_name("tables.sql")


async def make_tables(dsn: str) -> None:
    """Make the tables, where they are missing; they lie in the first schema of the connection's search path."""
    connection = await asyncpg.connect(dsn, timeout=10.0)
    try:
        await connection.execute(TABLES.read_text(encoding="utf-8"))
    finally:
        await connection.close()


def main() -> int:
    """Find the store and make them."""
    try:
        asyncio.run(make_tables(database_of(load(None, None, os.environ), "shop").dsn))
    except (WowError, OSError, asyncpg.PostgresError) as error:
        print(f"no tables were made: {error}", file=sys.stderr)
        return 1
    print("the tables sales and stock are there")
    return 0


if __name__ == "__main__":
    sys.exit(main())

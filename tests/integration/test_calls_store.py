"""An app whose durable calls lie in Redis: stored, run, asked for and audited as those in Postgres (F6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.redis_server import RedisServer, running_redis
from tests.waiting import until
from wow_ray import App, CallError, CallState, Durable
from wow_ray.cluster import database_of, migrated, open_operations, open_service, settings_of
from wow_ray.ops import CallQuery, Command

failing = [True]
app = App("elsewhere")


@app.retryable(durable=Durable(max_retries=1, initial_delay="10ms"))
async def grant(user: int) -> int:
    """Fail while told to."""
    if failing[0]:
        raise ValueError(user)
    return user


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Give a real server."""
    with running_redis() as server:
        yield server


@pytest.mark.parametrize("store", ["postgres", "redis"])
async def test_an_app_on_either_store(store: str, redis: RedisServer, postgres_dsn: str, schema: str) -> None:
    """From the caller to the operator and back, and the transaction that only Postgres takes part in (H39)."""
    failing[0] = True
    settings = settings_of(
        app,
        environ={
            "WOW_RAY_POSTGRES_DSN": postgres_dsn,
            "WOW_RAY_POSTGRES_SCHEMA": schema,
            "WOW_RAY_REDIS_URL": redis.url,
            "WOW_RAY_CALLS__STORE": store,
            "WOW_RAY_SLOTS": "8",
            "WOW_RAY_PARTITIONS": "1",
        },
    )
    database = database_of(settings, "elsewhere")
    await migrated(database, settings)
    async with open_service(app.resolved(settings), settings, database), open_operations(database) as operations:
        assert await grant(7) == 0
        call = await grant.submit(8)

        async def over() -> bool:
            page = await operations.calls.listed(CallQuery(frozenset({CallState.EXHAUSTED})))
            return len(page.calls) == 2

        await until(over, "both calls to be exhausted")
        failing[0] = False
        answer = await operations.calls.ask("retry", call.id, Command("ann", "fixed", "r-1"))
        assert answer.call is not None
        assert await call.result("10s") == 8
        again = await operations.calls.ask("retry", call.id, Command("ann", "fixed", "r-1"))
        assert again.outcome == answer.outcome
        if store == "redis":
            with pytest.raises(CallError):
                await grant.options(connection=object()).submit(9)

"""Wake-ups keep the contract on Postgres and on Redis, and neither's death is in anybody's way (S112)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator

import asyncpg
import pytest
from pydantic import SecretStr

from tests.redis_server import RedisServer, running_redis
from tests.silent_way import between
from tests.waiting import until
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.postgres import Database
from wow_ray.adapters.postgres.wakes import PostgresWakes
from wow_ray.adapters.redis.wakes import RedisWakes
from wow_ray.adapters.waking import Bus
from wow_ray.errors import SettingsError
from wow_ray.policy import outcry
from wow_ray.ports.wakes import Wakes
from wow_ray.settings import load
from wow_ray.testing.contract import WakesContract
from wow_ray.testing.contract.wakes import Ears

LISTENERS = """
    SELECT pid FROM pg_stat_activity WHERE application_name = 'wow-ray/' || $1 || '/listen'
"""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Give a Redis of this module's own, which a test may kill when it starts it again."""
    with running_redis() as server:
        yield server


@pytest.fixture
async def opened() -> AsyncIterator[list[Bus]]:
    """Give a list; what is put there is closed after the test."""
    buses: list[Bus] = []
    yield buses
    for bus in buses:
        await bus.close()


class TestPostgresWakes(WakesContract):
    """The suite, on NOTIFY."""

    @pytest.fixture
    def bus(self, postgres_dsn: str, opened: list[Bus]) -> Callable[..., Wakes]:
        """Open one more; a bus needs no schema to be there."""

        def open_one(schema: str = "wow", context: str = "shop") -> Wakes:
            opened.append(PostgresWakes(Database(postgres_dsn, context, schema), SystemClock()))
            return opened[-1]

        return open_one


class TestRedisWakes(WakesContract):
    """The suite, on pub/sub of a real Redis."""

    @pytest.fixture
    def bus(self, redis: RedisServer, opened: list[Bus]) -> Callable[..., Wakes]:
        """Open one more."""

        def open_one(schema: str = "wow", context: str = "shop") -> Wakes:
            opened.append(RedisWakes(SecretStr(redis.url), schema, context, SystemClock()))
            return opened[-1]

        return open_one


async def test_a_listener_of_postgres_that_was_ended_listens_again(
    postgres_dsn: str, opened: list[Bus], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S112: `pg_terminate_backend`, three times; in use again within 10 s.

    It is said once each time, since the listener works for 50 ms (5 s by default) before it is ended again.
    """
    monkeypatch.setattr(outcry, "SETTLED", 0.05)
    caplog.set_level(logging.INFO, "wow_ray.wakes")
    bus, ears = PostgresWakes(Database(postgres_dsn, "ended"), SystemClock()), Ears()
    opened.append(bus)
    admin = await asyncpg.connect(postgres_dsn)
    try:
        async with bus.listening(ears):
            for _ in range(3):
                await ears.attend(bus)
                (listener,) = await admin.fetch(LISTENERS, "ended")
                await admin.execute("SELECT pg_terminate_backend($1)", listener["pid"])
                await until(lambda: "do not come" in caplog.text, "the loss to be noticed")
                await ears.attend(bus)
                await until(lambda: "come again" in caplog.text, "it to have worked for a while")
                assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
                caplog.clear()
    finally:
        await admin.close()


async def test_a_redis_that_was_killed_is_used_again(
    redis: RedisServer, opened: list[Bus], caplog: pytest.LogCaptureFixture
) -> None:
    """S112: kill -9 of the server.

    1,000 hints told meanwhile take less than 1 s together, and two warnings are all that is said; back, it is in use
    again within 10 s.
    """
    caplog.set_level(logging.INFO, "wow_ray.wakes")
    bus, ears = RedisWakes(SecretStr(redis.url), "wow", "killed", SystemClock()), Ears()
    opened.append(bus)
    async with bus.listening(ears):
        await ears.attend(bus)
        redis.kill()
        try:
            begun = time.perf_counter()
            for position in range(1000):
                bus.told({1: position})
            assert time.perf_counter() - begun < 1
            await until(lambda: len(caplog.records) == 2, "both losses to be noticed")
        finally:
            redis.start()
        await ears.attend(bus)
        bus.told({1: 1000})
        await ears.hear({1: 1000})
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2
    assert redis.password not in caplog.text


async def test_a_half_open_connection_to_redis_is_given_up(
    redis: RedisServer, opened: list[Bus], caplog: pytest.LogCaptureFixture
) -> None:
    """S112: the server is stopped, not dead, so nothing closes the connection.

    The listener asks after 0.1 s here (10 s by default), waits 1 s, and connects anew.
    """
    bus, ears = RedisWakes(SecretStr(redis.url), "wow", "stopped", SystemClock()), Ears()
    bus.check = 0.1
    opened.append(bus)
    async with bus.listening(ears):
        await ears.attend(bus)
        os.kill(redis.pid, signal.SIGSTOP)
        try:
            await until(lambda: "do not come" in caplog.text, "the silence to be noticed")
        finally:
            os.kill(redis.pid, signal.SIGCONT)
        await ears.attend(bus)


async def test_a_half_open_connection_to_postgres_is_given_up(
    postgres_dsn: str, opened: list[Bus], caplog: pytest.LogCaptureFixture
) -> None:
    """S112: nothing comes through any more and nothing closes the connection.

    The listener asks after 0.1 s here (10 s by default), waits 1 s, and connects anew.
    """
    async with between(postgres_dsn) as (way, dsn):
        teller = PostgresWakes(Database(postgres_dsn, "hole"), SystemClock())
        bus, ears = PostgresWakes(Database(dsn, "hole"), SystemClock()), Ears()
        bus.check = 0.1
        opened.extend([teller, bus])
        async with bus.listening(ears):
            await ears.attend(teller)
            way.deafen()
            await until(lambda: "do not come" in caplog.text, "the silence to be noticed")
            await ears.attend(teller)


async def test_a_quiet_listener_keeps_its_connection(
    postgres_dsn: str, redis: RedisServer, opened: list[Bus], caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is told while it asks ten times whether the other end is there, here every 0.02 s."""
    caplog.set_level(logging.INFO, "wow_ray.wakes")
    clock = SystemClock()
    on_postgres = PostgresWakes(Database(postgres_dsn, "quiet"), clock)
    on_redis = RedisWakes(SecretStr(redis.url), "wow", "quiet", clock)
    for bus in (on_postgres, on_redis):
        bus.check = 0.02
        opened.append(bus)
        ears = Ears()
        async with bus.listening(ears):
            await ears.attend(bus)
            over = asyncio.Event()
            clock.call_at(clock.monotonic() + 0.2, over.set)
            await over.wait()
            bus.told({1: 1})
            await ears.hear({1: 1})
    assert not caplog.records


async def test_a_bus_that_is_away_is_in_nobodys_way() -> None:
    """Nobody listens at the address: a block begins, 100 hints are told and all is closed in less than 5 s."""
    clock = SystemClock()
    on_postgres = PostgresWakes(Database("postgresql://nobody@127.0.0.1:1/nothing", "shop"), clock)
    on_redis = RedisWakes(SecretStr("redis://127.0.0.1:1/0"), "wow", "shop", clock)
    begun = time.perf_counter()
    for bus in (on_postgres, on_redis):
        async with bus.listening(Ears()):
            for position in range(100):
                bus.told({1: position})
        await bus.close()
    assert time.perf_counter() - begun < 5


async def test_the_password_of_redis_is_never_shown(
    redis: RedisServer, opened: list[Bus], caplog: pytest.LogCaptureFixture
) -> None:
    """Not in what is logged when Redis refuses it, nor in a `repr`, nor when the setting is no address."""
    caplog.set_level(logging.DEBUG)
    secret = "hunter2hunter2"  # noqa: S105 - what must not be seen
    url = f"redis://:{secret}@127.0.0.1:{redis.port}/0"
    settings = load({}, None, {"WOW_RAY_REDIS_URL": url})
    assert settings.redis_url is not None
    bus = RedisWakes(settings.redis_url, "wow", "shop", SystemClock())
    opened.append(bus)
    async with bus.listening(Ears()):
        bus.told({1: 1})
        await until(lambda: len(caplog.records) >= 2, "both refusals")
    with pytest.raises(SettingsError, match="redis_url is no address") as told:
        RedisWakes(SecretStr(f"http://:{secret}@h"), "wow", "shop", SystemClock())
    with pytest.raises(SettingsError, match="redis_url") as listed:
        load({"redis_url": [url]}, None, {})

    for text in (caplog.text, repr(settings), repr(bus), repr(vars(bus)), str(told.value), str(listed.value)):
        assert secret not in text

"""One console on several real stores: two schemas of one database, and a database that is away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.unit.ops_window import GROUP, Carrier, made_app, order
from tests.unit.ops_window import Placed as OrderPlaced
from tests.waiting import until
from wow_ray.cli import main
from wow_ray.cli.console import served_console
from wow_ray.cluster import Database, migrated, open_operations, open_service
from wow_ray.ops import Operations, ParkedQuery
from wow_ray.settings import Settings, load

SECRET = "hunter2hunter2"  # noqa: S105 - to look for
AWAY = f"postgresql://wow:{SECRET}@127.0.0.1:1/none"


Ask = Callable[..., Awaitable[int]]


def settings_of(dsn: str, schema: str) -> Settings:
    """Give settings of a console: the shop, billing in another schema, and one whose database is away."""
    services = {
        "billing": {"postgres_schema": f"{schema}_b"},
        "gone": {"postgres_dsn": AWAY},
    }
    given = {"postgres_dsn": dsn, "postgres_schema": schema, "slots": 8, "partitions": 1}
    return load({**given, "ops": {"port": 0, "services": services}}, None, {})


@pytest.fixture
async def console(postgres_dsn: str, schema: str) -> AsyncIterator[httpx.AsyncClient]:
    """Both services run, and one console shows them."""
    settings = settings_of(postgres_dsn, schema)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_dropped, postgres_dsn, f"{schema}_b")
        await _running(stack, Database(postgres_dsn, "billing", f"{schema}_b"), settings)
        home = await _running(stack, Database(postgres_dsn, "shop", schema), settings)
        address = await stack.enter_async_context(served_console(home, settings))
        yield await stack.enter_async_context(httpx.AsyncClient(base_url=address, timeout=20, trust_env=False))


async def _running(stack: AsyncExitStack, database: Database, settings: Settings) -> Operations:
    """Run one service, with one aggregate parked."""
    app, carrier = made_app(database.context), Carrier()
    carrier.broken.add("o-1")
    await migrated(database, settings)
    spec = app.resolved(settings, overridden=(Carrier,))
    await stack.enter_async_context(open_service(spec, settings, database, overrides={Carrier: carrier}))
    operations = await stack.enter_async_context(open_operations(database, spec))
    async with app.connect() as client:
        await client.store.append(order("o-1"), [OrderPlaced()], expected_version=None)

    async def is_parked() -> bool:
        return (await operations.count(ParkedQuery())).rows == 1

    await until(is_parked, "one to be parked", seconds=30)
    return operations


async def _dropped(dsn: str, schema: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f'drop schema if exists "{schema}" cascade')
    finally:
        await connection.close()


async def test_each_store_is_asked_by_its_own_address_and_one_that_is_away_hinders_nobody(
    console: httpx.AsyncClient, postgres_dsn: str, schema: str
) -> None:
    """Numbers of each, why the third is away without its password, and a command that one store alone has heard of."""
    found = {each["service"]: each for each in (await console.get("/api/v1/services")).json()["services"]}
    assert {name: each["state"] for name, each in found.items()} == {
        "shop": "running",
        "billing": "running",
        "gone": "away",
    }
    assert (found["shop"]["parked"], found["billing"]["parked"], found["gone"]["parked"]) == (1, 1, None)
    pages = [
        (await console.get(path)).text for path in ("/services", "/services/gone/", "/services/gone/api/v1/parked")
    ]
    assert SECRET not in str(found)
    assert all(SECRET not in page for page in pages)
    assert "cannot be reached" in str(found["gone"]["why"])
    assert (await console.get("/services/gone/parked")).status_code == 503

    paused = await console.post(
        f"/services/billing/api/v1/subscriptions/{GROUP}/pause", json={"reason": "the bank is closed"}
    )
    assert paused.status_code == 200, paused.text
    connection = await asyncpg.connect(postgres_dsn)
    try:
        counts = {
            place: await connection.fetchval(f'SELECT count(*) FROM "{place}".operator_actions')  # noqa: S608
            for place in (schema, f"{schema}_b")
        }
    finally:
        await connection.close()
    assert counts == {schema: 0, f"{schema}_b": 1}


@pytest.fixture
async def ask(
    console: httpx.AsyncClient, tmp_path: Path, schema: str, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> Ask:
    """Run a command in a folder whose settings name the services, beside the console."""
    assert (await console.get("/readyz")).status_code == 200
    (tmp_path / "wow-ray.toml").write_text(
        f'postgres_schema = "{schema}"\n[ops.services.billing]\npostgres_schema = "{schema}_b"\n'
        f'[ops.services.gone]\npostgres_dsn = "{AWAY}"\n',
        encoding="utf-8",
    )
    (tmp_path / f"{schema}.py").write_text("from wow_ray import App\n\napp = App('shop')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("WOW_RAY_POSTGRES_DSN", postgres_dsn)
    monkeypatch.setenv("WOW_RAY_APP", f"{schema}:app")
    return lambda *words: asyncio.to_thread(main, list(words))


async def test_the_command_line_asks_a_service_by_its_name(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """`--context` takes a name of `ops.services`; `services` lists all of them, also when one is away."""
    assert await ask("status", "--context", "billing", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["context"], status["parked"]) == ("billing", 1)
    assert await ask("status", "--context", "gone", "--json") == 5
    told = capsys.readouterr().out
    assert await ask("services", "--json") == 0
    listed = capsys.readouterr().out
    states = {each["service"]: (each["state"], each["parked"]) for each in json.loads(listed)["services"]}
    assert states == {"shop": ("running", 1), "billing": ("running", 1), "gone": ("away", None)}
    assert await ask("services") == 0
    table = capsys.readouterr().out
    assert [line.split()[0] for line in table.splitlines()] == ["SERVICE", "shop", "billing", "gone"]
    assert SECRET not in told + listed + table


async def test_the_command_line_tells_what_came_before(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """`history`: of one group, or of all together."""

    async def told() -> bool:
        assert await ask("history", GROUP, "--context", "billing", "--range", "6h", "--json") == 0
        view = json.loads(capsys.readouterr().out)
        assert (view["range"], view["gaps"]) == ("6h", [])
        return bool(view["points"])

    await until(told, "a sample", seconds=30)
    assert await ask("history", "--context", "billing") == 0
    headings, *points = capsys.readouterr().out.splitlines()
    assert headings.split()[:2] == ["FROM", "LAG"]
    assert points
    assert await ask("history", "nobody") == 4

"""`wow-ray dev`: from nothing to a handled event, saves, signals, and never a server left behind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli_shop import SECONDS, SHOP, Shop
from tests.integration.cli_shop import shop as a_shop
from tests.waiting import until_blocking
from wow_ray.adapters.embedded.state import is_alive


@pytest.fixture(scope="module")
def kept() -> Iterator[Shop]:
    """One shop and one private database for all tests here: each starts the program anew on what the last one left."""
    with a_shop() as shop:
        yield shop


@pytest.fixture
def shop(kept: Shop) -> Shop:
    """The shop as it was written."""
    if kept.source.read_text(encoding="utf-8") != SHOP:
        kept.source.write_text(SHOP, encoding="utf-8")
    (kept.folder / "wow-ray.toml").unlink(missing_ok=True)
    return kept


def test_events_of_another_process_are_handled_until_ctrl_c(shop: Shop) -> None:
    """Nothing is configured: a server is started and migrated, a producer finds it, Ctrl-C drains and stops both."""
    with shop.dev("shop:app", "--partitions", "2") as dev:
        dev.says("running 2 partitions: Notifier.on_paid")
        with shop.producer() as producer:
            producer.place("first", "first")
        dev.says("told order/first@2")
        assert dev.said().index("told order/first@1") < dev.said().index("told order/first@2")

        status = shop.asked("status", "--context", "shop")
        assert (status["ready"], status["unowned"], status["slots"]) == (True, [], 256)
        assert [partition["slots"] for partition in status["partitions"]] == [128, 128]
        assert {partition["pid"] for partition in status["partitions"]} == {dev.process.pid}
        second = shop.command("dev", "shop:app")
        assert second.returncode == 1
        assert f"belongs to process {dev.process.pid}" in second.stderr

        server = shop.server_pid()
        dev.interrupt()
        dev.ends(0)
        assert "draining" in dev.said()
        assert "Traceback" not in dev.said()
        assert not is_alive(server)
        assert shop.server() is None
        assert shop.asked("status", "--context", "shop", code=5)["error"]["code"] == "WOW-CONNECT"


def test_sigterm_drains_and_json_is_one_document(shop: Shop) -> None:
    """With `--json` what the app prints and the progress go to standard error; the end is told in one document."""
    with shop.dev("shop:app", "--json", "--no-reload") as dev, shop.producer() as producer:
        producer.place("in-json")
        dev.says("told order/in-json@1")
        dev.interrupt(signal.SIGTERM)
        dev.ends(0)
        told = json.loads(dev.output.read_text(encoding="utf-8"))
        assert told["ended"] == "stopped"
        assert told["handled"] >= 1
        assert [group["group"] for group in told["groups"]] == ["Notifier.on_paid"]


def test_a_killed_dev_leaves_no_server_and_the_next_goes_on(shop: Shop) -> None:
    """By kill -9, also after a reload: the private server ends by itself, and nothing that was stored is lost."""
    with shop.dev("shop:app") as dev:
        (shop.broken / "killed").touch()
        with shop.producer() as producer:
            producer.place("killed")
        dev.says("parked 1")
        server = shop.server_pid()
        _save(shop, SHOP + "\n# saved\n")
        dev.says("running", times=2)
        assert is_alive(server)
        dev.interrupt(signal.SIGKILL)
        dev.ends(-signal.SIGKILL)
        until_blocking(lambda: not is_alive(server), "the end of the server", seconds=SECONDS)
        assert shop.server() is None

    (shop.broken / "killed").unlink()
    with shop.dev("shop:app"):
        (row,) = shop.asked("parked", "list", "--context", "shop", "--aggregate", "order/killed")["rows"]
        assert row["state"] == "parked"


def test_a_second_ctrl_c_ends_it_at_once(shop: Shop) -> None:
    """Whatever a handler is doing; the server goes too."""
    stuck = SHOP.replace("async def on_paid", "def on_paid").replace(
        '        print(f"told',
        '        print("stuck", flush=True); __import__("threading").Event().wait()\n        print(f"told',
    )
    shop.source.write_text(stuck, encoding="utf-8")
    with shop.dev("shop:app", "--no-reload") as dev:
        with shop.producer() as producer:
            producer.place("stuck")
        dev.says("stuck")
        server = shop.server_pid()
        dev.interrupt()
        dev.says("draining")
        dev.interrupt()
        dev.ends(130)
        until_blocking(lambda: not is_alive(server), "the end of the server", seconds=SECONDS)


def test_a_save_is_served_and_a_broken_one_is_not(shop: Shop) -> None:
    """The version before goes on and says why; process, server and producers' connections live through a reload."""
    with shop.dev("shop:app") as dev, shop.producer() as producer:
        server = shop.server_pid()
        producer.place("first-of-all")
        _save(shop, SHOP.replace('print(f"told', 'pritn(f"told') + "\nimport nonsuch\n")
        dev.says("not loaded, the version before goes on: WOW-APP shop:app cannot be loaded")
        assert "there is no module 'nonsuch'" in dev.said()
        producer.place("before")
        dev.says("told order/before@1")

        _save(shop, SHOP.replace('print(f"told', 'print(f"informed'))
        dev.says("running", times=2)
        producer.place("after")
        dev.says("informed order/after@1")

        assert "reloading" in dev.said()
        assert "told order/after" not in dev.said()
        assert shop.server_pid() == server
        assert shop.asked("status", "--context", "shop")["partitions"][0]["pid"] == dev.process.pid
        dev.interrupt()
        dev.ends(0)
        assert not is_alive(server)


def test_a_definition_error_is_one_message_with_code_and_place(shop: Shop) -> None:
    """Exit 2, no traceback, and as a document with `--json`; no server is started."""
    shop.source.write_text(SHOP.replace("async def on_paid(self, event: Event[OrderPaid])", "async def on_paid(self)"))

    done = shop.command("dev", "shop:app")

    assert done.returncode == 2
    assert done.stderr.startswith("error: WOW-")
    assert "shop.py:" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert shop.asked("dev", "shop:app", code=2)["error"]["code"].startswith("WOW-")
    assert shop.server() is None


def test_a_server_of_ones_own_is_migrated_and_read_from_one_place_by_all(
    shop: Shop, postgres_dsn: str, schema: str
) -> None:
    """S79: with `wow-ray.toml` beside the app, worker, producer and commands work on one schema of one server."""
    (shop.folder / "wow-ray.toml").write_text(f'postgres_schema = "{schema}"\nslots = 8\npartitions = 1\n')
    dsn = {"WOW_RAY_POSTGRES_DSN": postgres_dsn}

    refused = shop.command("status", "--app", "shop:app", **dsn)
    assert refused.returncode == 1
    assert "run `wow-ray migrate`" in refused.stderr

    with shop.dev("shop:app", **dsn) as dev, shop.producer(**dsn) as producer:
        assert shop.server() is None
        dev.says("migrated: 0001_log")
        producer.place("elsewhere")
        dev.says("told order/elsewhere@1")
        status = shop.command("status", "--json", WOW_RAY_APP="shop:app", **dsn)
        assert json.loads(status.stdout)["slots"] == 8
        dev.interrupt()
        dev.ends(0)


def _save(shop: Shop, text: str) -> None:
    """Save as an editor does: written beside, then moved into place."""
    beside = Path(f"{shop.source}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, shop.source)  # noqa: PTH105 - the system's word for it

"""What the commands show of a program that runs in another process, by what its partitions say in the store (H60)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.cli_shop import SECONDS, Shop
from tests.integration.cli_shop import shop as a_shop
from tests.waiting import until_blocking

GROUP = "Notifier.on_paid"
HERE = ("--context", "shop")


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A shop on disk that does not run yet."""
    with a_shop() as shop:
        yield shop


def test_a_program_is_seen_at_work_from_another_process_and_no_more_once_it_has_ended(shop: Shop) -> None:
    """Architecture 8: counts, limits and how old that is, on a real server; an orderly end leaves no report."""
    with shop.dev("shop:app", "--partitions", "2", "--no-reload", "--data-dir", str(shop.state)) as dev:
        with shop.producer() as producer:
            producer.place("o-1", "o-2", "o-3", "o-4")

        def live() -> dict[str, Any]:
            found: dict[str, Any] = shop.asked("subscriptions", "show", GROUP, *HERE)["group"]["live"]
            return found

        until_blocking(lambda: live()["handled"] == 4, "the report of four events", seconds=SECONDS)
        seen = live()
        assert (seen["state"], seen["where"], seen["limit"], seen["share"]) == ("running", ["shop-0", "shop-1"], 64, 64)
        assert seen["age"] < 10
        assert "calls" in shop.command("subscriptions", "show", GROUP, *HERE).stdout

        listed = shop.asked("partitions", "list", *HERE)
        assert listed["troubles"] == []
        assert [each["partition"] for each in listed["partitions"]] == ["shop-0", "shop-1"]
        for each in listed["partitions"]:
            assert (each["live"]["state"], each["live"]["gates"], each["live"]["late"]) == ("running", [], {})
            assert each["live"]["uncommitted"] < 10
        assert "shop-1 " in shop.command("partitions", "list", *HERE).stdout
        assert f"{GROUP}" in shop.command("subscriptions", "list", *HERE).stdout
        assert "events" in shop.command("status", *HERE).stdout
        assert "left" in shop.command("status", *HERE).stdout
        dev.interrupt()
        dev.ends(0)

"""`wow-ray subscriptions pause` and its fellows, against real programs: what they do, answer and exit with (H44)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cli_shop import Shop
from tests.integration.cli_shop import shop as a_shop

GROUP = "Notifier.on_paid"
WHY = ("--reason", "the carrier moves house")
HERE = ("--context", "shop")


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A shop on disk that does not run yet."""
    with a_shop() as shop:
        yield shop


def test_a_pause_stops_a_program_outlives_it_and_ends_when_somebody_says_so(shop: Shop) -> None:
    """H44, S83: asked from another process; nothing is handled before or after a restart; one resume starts it."""
    with shop.dev("shop:app", "--partitions", "2", "--no-reload") as dev, shop.producer() as producer:
        producer.place("o-1")
        dev.says("told order/o-1@1")

        done = shop.asked("subscriptions", "pause", GROUP, *WHY, "--actor", "ann", "--request-id", "p-1", *HERE)

        assert (done["state"], done["changed"], done["handlers"]) == ("done", True, [GROUP])
        dev.says(f"{GROUP} stands still (operator)", times=2)
        producer.place("o-1", "o-2")
        assert shop.asked("status", *HERE)["lag"] == 2
        assert "o-2" not in dev.said()
        dev.interrupt()
        dev.ends(0)

    with shop.dev("shop:app", "--partitions", "2", "--no-reload") as dev:
        again = shop.asked("subscriptions", "pause", GROUP, *WHY, "--actor", "ann", "--request-id", "p-1", *HERE)
        assert again == done
        (group,) = shop.asked("subscriptions", "list", *HERE)["groups"]
        (pause,) = group["pauses"]
        assert (pause["reason"], pause["actor"], pause["text"]) == ("operator", "ann", "the carrier moves house")
        assert (group["lag"], shop.asked("status", *HERE)["paused"]) == (2, [GROUP])
        assert "told" not in dev.said()

        resumed = shop.asked("subscriptions", "resume", GROUP, "--reason", "it has moved", "--actor", "bob", *HERE)

        assert (resumed["changed"], resumed["pauses"]) == (True, [])
        dev.says("told order/o-1@2")
        dev.says("told order/o-2@1")
        shown = shop.asked("subscriptions", "show", GROUP, *HERE)
        (over,) = shown["history"]
        assert (over["actor"], over["ended_by"], over["ended_text"]) == ("ann", "bob", "it has moved")
        assert shown["group"]["pauses"] == []


def test_what_is_wrong_is_told_by_its_exit_code(shop: Shop) -> None:
    """2 usage, 3 conflict, 4 not found, 5 unreachable; two reasons stand beside each other."""
    assert shop.asked("subscriptions", "pause", GROUP, *WHY, *HERE, code=5)["error"]["exit"] == 5
    with shop.dev("shop:app", "--partitions", "1", "--no-reload"):
        ask = ("subscriptions", "pause")
        told = shop.asked(*ask, "Notifier.on_pay", *WHY, *HERE, code=4)["error"]["message"]
        assert "did you mean 'Notifier.on_paid'" in told
        assert "shop-0" in shop.asked(*ask, GROUP, *WHY, "--partition", "shop-1", *HERE, code=4)["error"]["message"]
        for wrong in ((), ("--reason", "  "), (*WHY, "--pause", "systemic")):
            assert shop.asked(*ask, GROUP, *wrong, *HERE, code=2)["error"]["exit"] == 2
        lifted = ("subscriptions", "resume", GROUP, *WHY, "--pause", "mass_failure")
        assert "one partition" in shop.asked(*lifted, *HERE, code=2)["error"]["message"]

        shop.asked(*ask, GROUP, *WHY, "--request-id", "p-1", *HERE)
        shop.asked(*ask, GROUP, *WHY, "--partition", "shop-0", "--pause", "deploy", *HERE)
        other = ("subscriptions", "resume", GROUP, *WHY, "--request-id", "p-1")
        assert shop.asked(*other, *HERE, code=3)["error"]["code"] == "WOW-CONFLICT"
        left = shop.asked("subscriptions", "resume", GROUP, *WHY, *HERE)["pauses"]
        assert [(pause["reason"], pause["partition"]) for pause in left] == [("deploy", "shop-0")]
        said = shop.command("subscriptions", "resume", GROUP, *WHY, *HERE).stdout
        assert "nothing changed" in said
        assert "they stand still: deploy in shop-0 since" in said
        assert "deploy in shop-0 since" in shop.command("subscriptions", "list", *HERE).stdout
        assert "the carrier moves house" in shop.command("subscriptions", "show", GROUP, *HERE).stdout

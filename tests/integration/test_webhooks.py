"""Notices reach real servers: signed, taken once, whatever a server does, and nowhere they must not (P13)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest
from aiohttp import web

from tests.waiting import until
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.memory import MemoryStore
from wow_ray.adapters.webhook import Target, WebhookSender
from wow_ray.errors import SettingsError, StoreUnavailableError
from wow_ray.policy.notices import Kind, NewDelivery, Route, Writer
from wow_ray.policy.redelivery import Redelivery
from wow_ray.ports.notices import Answer, Delivery, DeliveryFilter, DeliveryState
from wow_ray.ports.slots import Notice
from wow_ray.runtime.herald import LEEWAY, Herald, HeraldPace
from wow_ray.settings.notices import WebhookSettings
from wow_ray.testing.clock import dice
from wow_ray.testing.contract.memory import MemoryHarness
from wow_ray.testing.contract.rows import owning

SECRET = "whsec_" + base64.b64encode(b"a key of some bytes").decode()
TIMEOUT = 2.0


class Receiver:
    """A server that answers as it is told, and remembers what it was sent."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.headers: dict[str, str] = {}
        self.hangs = False
        self.seen: list[tuple[dict[str, str], str]] = []
        self.port = 0
        self._released = asyncio.Event()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        """The ids of what came."""
        return [headers["webhook-id"] for headers, _ in self.seen]

    async def answer(self, request: web.Request) -> web.Response:
        """Take what is sent."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append((headers, await request.text()))
        if self.hangs:
            await self._released.wait()
        status = self.statuses.pop(0) if self.statuses else 204
        return web.Response(status=status, headers=self.headers)

    def release(self) -> None:
        """Let who hangs go."""
        self._released.set()


@asynccontextmanager
async def a_receiver(*statuses: int) -> AsyncIterator[Receiver]:
    """Run a server on loopback."""
    receiver = Receiver(*statuses)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", receiver.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        receiver.release()
        await runner.cleanup()


def target(url: str, *secrets: str, private: bool = True) -> Target:
    """A webhook at this address."""
    return Target(lambda: url, lambda: secrets, private)


def sender(url: str, *secrets: str, private: bool = True, timeout: float = TIMEOUT) -> WebhookSender:
    """The way to one webhook, `oncall`."""
    return WebhookSender({"oncall": target(url, *secrets, private=private)}, timeout)


class Dying(WebhookSender):
    """Sends, and never comes back from it."""

    dies = True

    def __init__(self, targets: Mapping[str, Target], timeout: float) -> None:
        super().__init__(targets, timeout)
        self.sent = asyncio.Event()

    async def send(self, webhook: str, delivery: Delivery, now: datetime) -> Answer:
        """Send, then hang."""
        answer = await super().send(webhook, delivery, now)
        self.sent.set()
        if self.dies:
            await asyncio.Event().wait()
        return answer


class House:
    """A store in memory, in virtual time, and who tells of it."""

    def __init__(self, sender: WebhookSender, *routes: Route, attempts: int = 10, gather: float = 0.0) -> None:
        self.harness = MemoryHarness()
        self.outbox = self.harness.client.outbox
        ids = itertools.count(1)
        self.writer = Writer("shop", lambda: f"d-{next(ids)}")
        self.pace = HeraldPace(timeout=TIMEOUT, gather=gather, redelivery=Redelivery(attempts))
        clock, luck = self.harness.clock, dice(0.0)
        self.herald = Herald(
            self.outbox, sender, routes or (Route("oncall"),), self.writer, clock=clock, dice=luck, pace=self.pace
        )

    async def park(self, count: int = 1) -> None:
        """Park so many aggregates, and route the facts."""
        partition = await owning(self.harness)
        rows = [partition.row(f"r-{n}", aggregate_id=f"o-{n}") for n in range(count)]
        notices = tuple(Notice("parked", row) for row in rows)
        await partition.commit(partition.write(rows=tuple(rows), notices=notices))
        await self.herald.round()

    async def log(self) -> Sequence[Delivery]:
        """Give all deliveries, the oldest first."""
        return list(reversed(await self.outbox.deliveries(DeliveryFilter())))

    async def later(self, seconds: float) -> None:
        """Let time pass."""
        await self.harness.clock.advance(seconds)


async def test_a_notice_arrives_signed_so_that_any_standard_webhooks_library_verifies_it() -> None:
    """P13: HMAC-SHA256 over id, timestamp and body, once for each secret; the time is the store's."""
    async with a_receiver() as receiver:
        house = House(sender(receiver.url, SECRET, "another one, as plain text"))
        await house.park()

        assert await house.herald.send_one("oncall") is not None

        ((headers, body),) = receiver.seen
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
        keys = (b"a key of some bytes", b"another one, as plain text")
        right = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
        assert headers["webhook-signature"].split() == [f"v1,{each}" for each in right]
        assert int(headers["webhook-timestamp"]) == int((await house.outbox.now()).timestamp())
        assert headers["content-type"] == "application/json"
        told = json.loads(body)
        assert (told["id"], told["notices"][0]["aggregate_id"]) == (headers["webhook-id"], "o-0")
        (delivery,) = await house.log()
        assert (delivery.state, delivery.status, delivery.error) == ("sent", 204, "")


async def test_errors_are_tried_again_with_the_same_id_and_the_same_bytes_later_and_later() -> None:
    """P13: backoff, and the receiver can tell a repeat."""
    async with a_receiver(500, 503, 200) as receiver:
        house = House(sender(receiver.url, SECRET))
        await house.park()
        for wait in (2.5, 7.5, 0.0):  # half of 5 and 15 s, as the dice fall
            await house.herald.send_one("oncall")
            assert await house.herald.send_one("oncall") is None
            await house.later(wait)

        assert receiver.ids == ["d-1"] * 3
        assert len({body for _, body in receiver.seen}) == 1
        assert [headers["webhook-attempt"] for headers, _ in receiver.seen] == ["1", "2", "3"]
        (delivery,) = await house.log()
        assert (delivery.state, delivery.attempts, delivery.status) == ("sent", 3, 200)


async def test_a_receiver_that_asks_for_time_gets_it() -> None:
    """D4, P13: `Retry-After` is a lower bound."""
    async with a_receiver(429) as receiver:
        receiver.headers = {"Retry-After": "120"}
        house = House(sender(receiver.url, SECRET))
        await house.park()
        await house.herald.send_one("oncall")

        await house.later(119)
        assert await house.herald.send_one("oncall") is None
        await house.later(2)
        assert await house.herald.send_one("oncall") is not None


async def test_a_dead_receiver_is_given_up_after_its_attempts_and_the_log_says_why() -> None:
    """P13: bounded retries; what was not sent is seen, and can be sent again."""
    async with a_receiver() as receiver:
        url = receiver.url
    house = House(sender(url, SECRET), attempts=3)
    await house.park()

    for _ in range(5):
        await house.herald.send_one("oncall")
        await house.later(3_600)

    (delivery,) = await house.log()
    assert (delivery.state, delivery.attempts, delivery.status) == ("failed", 3, None)
    assert "Connect" in delivery.error


async def test_a_slow_receiver_costs_its_timeout_and_no_more() -> None:
    """P13: an attempt is bounded, also when the answer never ends."""
    async with a_receiver() as receiver:
        receiver.hangs = True
        house = House(sender(receiver.url, SECRET, timeout=0.2))
        await house.park()

        answer = await house.herald.send_one("oncall")

        assert answer is not None
        assert answer.error == "no answer within 0.2 s"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed_anywhere(status: int) -> None:
    """P13: neither to another host nor to another path; the log says where it led, without the secrets in that."""
    async with a_receiver(status) as receiver, a_receiver() as other:
        receiver.headers = {"Location": f"{other.url}?token=hunter2"}
        house = House(sender(receiver.url, SECRET))
        await house.park()

        answer = await house.herald.send_one("oncall")

        assert answer is not None
        assert f"answers {status} to http://127.0.0.1:{other.port}/hook?token=***;" in answer.error
        assert (len(receiver.seen), other.seen) == (1, [])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "2130706433",
        "0x7f000001",
        "127.1",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
        "0.0.0.0",  # noqa: S104 - which nothing is bound to
    ],
)
async def test_nothing_in_a_private_network_is_sent_to_unless_the_webhook_may_be(host: str) -> None:
    """P13: however the address is written, and whatever a name leads to."""
    async with a_receiver() as receiver:
        house = House(sender(f"https://{host}:{receiver.port}/hook", SECRET, private=False))
        await house.park()

        answer = await house.herald.send_one("oncall")

        assert answer is not None
        said = ("no public address", "never sent there", "not a canonical IPv4 address")
        assert any(each in answer.error for each in said)
        assert receiver.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/x",
        "http://[::ffff:169.254.169.254]/",
        "http://0.0.0.0/",
    ],
)
async def test_where_clouds_keep_credentials_nothing_is_ever_sent(url: str) -> None:
    """P13: link-local addresses are refused for private webhooks too."""
    answer = await sender(url, SECRET).send("oncall", a_delivery(), SystemClock().now())

    assert "never sent there" in answer.error


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.org/hook", "use https"),
        ("ftp://example.org/hook", "no address of the form"),
        ("example.org/hook", "no address of the form"),
        ("https://", "no address of the form"),
        ("https://ann:hunter2@example.org/hook", "user or a password"),
        ("https://[::1", "no address"),
        ("https://exa mple.org:99999/", "no address"),
    ],
)
async def test_an_address_that_is_none_is_said_and_no_secret_of_it(url: str, said: str) -> None:
    """P13, P4: bad urls are answers, not crashes."""
    answer = await sender(url, SECRET, private=False).send("oncall", a_delivery(), SystemClock().now())

    assert said in answer.error
    assert "hunter2" not in answer.error


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\xff\xfe garbage\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 999999 \r\n\r\n",
        b"HTTP/1.1 500 \x1b[31m\r\nContent-Length: 9999999999\r\n\r\n" + b"\x00\xff\x1b[2J" * 100,
        b"HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_a_server_that_answers_garbage_is_an_answer_that_can_be_kept(said: bytes) -> None:
    """P13, S108: it is told in one short line that a database keeps and a terminal shows."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        house = House(sender(f"http://127.0.0.1:{port}/", SECRET))
        await house.park()

        answer = await house.herald.send_one("oncall")

    assert answer is not None
    assert 0 < len(answer.error) <= 300
    assert not set(answer.error) & set(map(chr, range(32)))


async def test_an_answer_of_any_length_is_looked_at_only_at_its_beginning() -> None:
    """P13: a receiver that answers a film costs some kilobytes."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 No\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        answer = await sender(f"http://127.0.0.1:{port}/", SECRET).send("oncall", a_delivery(), SystemClock().now())

    assert answer.error.startswith("answers 500 No: xxx")


async def test_a_crash_between_sending_and_saying_so_sends_the_same_id_again() -> None:
    """P13: at least once; the process that comes after it knows nothing of the first."""
    async with a_receiver() as receiver:
        way = Dying({"oncall": target(receiver.url, SECRET)}, TIMEOUT)
        house = House(way)
        await house.park()
        attempt = asyncio.ensure_future(house.herald.send_one("oncall"))
        await asyncio.wait_for(way.sent.wait(), 30)
        attempt.cancel()
        await asyncio.gather(attempt, return_exceptions=True)
        way.dies = False

        assert await house.herald.send_one("oncall") is None
        await house.later(TIMEOUT + LEEWAY + 1)
        await house.herald.send_one("oncall")

        assert receiver.ids == ["d-1", "d-1"]
        (delivery,) = await house.log()
        assert (delivery.state, delivery.attempts) == ("sent", 2)


async def test_a_store_that_is_away_when_the_end_is_to_be_told_sends_again() -> None:
    """P13: the same, with the process alive."""
    async with a_receiver() as receiver:
        house = House(sender(receiver.url, SECRET))
        await house.park()
        house.harness.store.fail_next("outbox.write", StoreUnavailableError("away"), at="end")
        with pytest.raises(StoreUnavailableError):
            await house.herald.send_one("oncall")  # claimed, and nobody knows
        await house.later(TIMEOUT + LEEWAY + 1)

        await house.herald.send_one("oncall")

        assert receiver.ids == ["d-1"]


async def test_a_dead_and_a_hanging_webhook_keep_nobody_else_from_theirs() -> None:
    """P13: each webhook has a task of its own; in real time, all loops running."""
    async with a_receiver() as dead, a_receiver() as hanging, a_receiver() as well:
        hanging.hangs = True
        gone = dead.url.replace(str(dead.port), "1")
        targets = {"gone": target(gone), "hanging": target(hanging.url), "well": target(well.url, SECRET)}
        clock = SystemClock()
        store = MemoryStore("shop", clock, slots=8)
        outbox = store.client_stores().outbox
        routes = tuple(map(Route, targets))
        ids = itertools.count(1)
        writer = Writer("shop", lambda: f"d-{next(ids)}")
        herald = Herald(outbox, WebhookSender(targets, 10.0), routes, writer, clock=clock, dice=dice(0.5))
        for n in range(5):
            for route in routes:
                new = NewDelivery(f"{route.webhook}-{n}", route.webhook, ("parked",), 1, "said", "{}")
                await outbox.route([], [new])
        running = asyncio.ensure_future(herald.run())
        try:
            await until(lambda: len(well.seen) == 5, "the healthy webhook to be told everything")
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        assert well.ids == [f"well-{n}" for n in range(5)]
        assert len(hanging.seen) <= 1


async def test_facts_are_gathered_after_some_were_sent_and_then_go_together() -> None:
    """P13: the first is told at once, a burst after it in one delivery."""
    async with a_receiver() as receiver:
        house = House(sender(receiver.url, SECRET), gather=10.0)
        await house.park()
        partition = await owning(house.harness)
        for n in range(20):
            row = partition.row(f"s-{n}", aggregate_id=f"p-{n}")
            await partition.commit(partition.write(rows=(row,), notices=(Notice("parked", row),)))
            assert await house.herald.round() == 0
        await house.later(11)

        assert await house.herald.round() == 1

        assert [each.facts for each in await house.log()] == [1, 20]


async def test_what_is_not_wanted_is_told_to_nobody_also_not_later() -> None:
    """P13: a webhook that is set up today is not told of last year."""
    async with a_receiver() as receiver:
        house = House(sender(receiver.url, SECRET), Route("oncall", frozenset({Kind.BACK})))
        await house.park(3)

        assert list(await house.log()) == []
        assert list(await house.outbox.facts(10)) == []


async def test_a_secret_that_cannot_be_read_sends_nothing_unsigned(tmp_path: Path) -> None:
    """P13: the log names the file; once it is there the notice goes out, and several lines sign several times."""
    file = tmp_path / "secret"
    settings = WebhookSettings(secret_file=file)
    async with a_receiver() as receiver:
        targets = {"oncall": Target(lambda: receiver.url, settings.secrets, private=True)}
        house = House(WebhookSender(targets, TIMEOUT))
        await house.park()

        first = await house.herald.send_one("oncall")
        assert first is not None
        assert str(file) in first.error
        assert receiver.seen == []

        file.write_text("old\n\nnew\n", encoding="utf-8")
        await house.later(10)
        await house.herald.send_one("oncall")
        assert len(receiver.seen[0][0]["webhook-signature"].split()) == 2


async def test_a_secret_that_is_no_base64_after_its_prefix_is_said() -> None:
    """P13: and the secret itself is not."""
    answer = await sender("https://example.org/", "whsec_hunter2!").send("oncall", a_delivery(), SystemClock().now())

    assert "no base64" in answer.error
    assert "hunter2" not in answer.error


async def test_a_test_is_written_in_the_format_of_its_webhook() -> None:
    """P13: somebody who sets a webhook up sees that notices arrive; an unknown one is said to be none."""
    async with a_receiver() as receiver:
        house = House(sender(receiver.url), Route("oncall", format="slack"))
        for n, name in enumerate(("oncall", "nobody")):
            new = house.writer.test(name, await house.outbox.now())
            await house.outbox.add(new, f"q-{n}", "ann", "is it right?")
        await house.herald.send_one("oncall")
        await house.herald.round()

        assert json.loads(receiver.seen[0][1]) == {"text": "shop: a test; notices arrive here"}
        assert [(each.webhook, each.state) for each in await house.log()] == [("oncall", "sent"), ("nobody", "failed")]


async def test_a_step_of_the_calendar_moves_no_attempt_and_no_timestamp() -> None:
    """W1's kin: all times are the store's; a sender whose clock is a day off is believed by receivers."""
    async with a_receiver(500) as receiver:
        house = House(sender(receiver.url, SECRET))
        await house.park()
        house.harness.clock.step(86_400)
        await house.herald.send_one("oncall")
        house.harness.clock.step(-2 * 86_400)
        await house.later(3)
        await house.herald.send_one("oncall")

        stamps = [int(headers["webhook-timestamp"]) for headers, _ in receiver.seen]
        assert len(stamps) == 2
        assert 2 <= stamps[1] - stamps[0] <= 4


def a_delivery() -> Delivery:
    """Some delivery."""
    now = SystemClock().now()
    return Delivery("d-1", "oncall", ("parked",), 1, "said", "{}", DeliveryState.WAITING, 1, now, now, now)


def test_a_webhook_needs_a_secret_or_says_that_it_needs_none() -> None:
    """P13: found at start, not at three in the morning."""
    assert WebhookSettings.model_validate({"url": "https://example.org/x"}).wants_secret
    assert not WebhookSettings.model_validate({"url": "https://example.org/x", "format": "slack"}).wants_secret
    with pytest.raises(SettingsError, match="cannot be read"):
        WebhookSettings(secret_file=Path("/nowhere/secret")).secrets()

"""A webhook behind a private authority or a proxy is reached, and nothing else is reached by that (P13)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver
from pydantic import ValidationError

from tests.integration.authority import Authority
from wow_ray.adapters.clock import SystemClock
from wow_ray.adapters.webhook import Target, WebhookSender
from wow_ray.ports.notices import Answer, Delivery, DeliveryState
from wow_ray.settings.notices import WebhookSettings

NAME = "hooks.test"
TIMEOUT = 5.0


class Names:
    """What names mean in a test, and which were asked for."""

    def __init__(self, **known: str) -> None:
        self.known = {name.replace("_", "."): address for name, address in known.items()}

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
        """Answer as `ThreadedResolver` does."""
        if host not in self.known:
            raise OSError(f"no such name: {host}")
        kind = socket.AF_INET if family == socket.AF_UNSPEC else family
        address = self.known[host]
        return [ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)]


class Proxy:
    """A proxy that opens tunnels, and remembers where to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.credentials: list[str] = []
        self.refuses = False
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Open one tunnel."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.split()[1])
        self.credentials += [line for line in head.splitlines() if line.lower().startswith("proxy-authorization")]
        if self.refuses:
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            writer.close()
            return
        host, _, port = self.asked[-1].rpartition(":")
        there, here = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_piped(reader, here), _piped(there, writer))


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass everything on until one side has enough."""
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def a_proxy() -> AsyncIterator[Proxy]:
    """Run one on loopback."""
    proxy = Proxy()
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.port = server.sockets[0].getsockname()[1]
        yield proxy


@asynccontextmanager
async def a_webhook(authority: Authority, name: str = NAME) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve over TLS on loopback under a name; gives the address and the hosts that were asked for."""
    hosts: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        hosts.append(request.headers["Host"])
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/hook", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=authority.server_of(name)).start()
    try:
        yield f"https://{NAME}:{runner.addresses[0][1]}/hook", hosts
    finally:
        await runner.cleanup()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """The webhook's name means this machine."""
    names = Names(hooks_test="127.0.0.1", proxy_test="127.0.0.1")

    async def resolve(
        _: ThreadedResolver, host: str, port: int = 0, family: int = socket.AF_INET
    ) -> list[ResolveResult]:
        return await names.resolve(host, port, family)

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)
    return names


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """An authority that this machine does not believe."""
    return Authority(tmp_path)


async def sent(url: str, *, private: bool = True, ca_file: Path | None = None, proxy: str | None = None) -> Answer:
    """Send one notice."""
    now = SystemClock().now()
    delivery = Delivery("d-1", "oncall", ("parked",), 1, "said", "{}", DeliveryState.WAITING, 1, now, now, now)
    way: Callable[[], str] = lambda: url  # noqa: E731 - as the settings give it
    sender = WebhookSender({"oncall": Target(way, lambda: ("secret",), private, ca_file, proxy)}, TIMEOUT)
    return await sender.send("oncall", delivery, now)


async def test_a_private_authority_is_believed_where_its_file_is_given(authority: Authority, names: Names) -> None:
    """P13: and not without; for another name it proves nothing."""
    assert names.known
    async with a_webhook(authority) as (url, hosts), a_webhook(authority, "other.test") as (other, never):
        assert "CERTIFICATE_VERIFY_FAILED" in (await sent(url)).error
        assert hosts == []
        assert (await sent(url, ca_file=authority.ca_file)).status == 204
        assert hosts == [url.split("/")[2]]
        assert "Hostname mismatch" in (await sent(other, ca_file=authority.ca_file)).error
        assert never == []


async def test_a_file_that_holds_no_certificate_is_named_and_nothing_is_sent(tmp_path: Path, names: Names) -> None:
    """P13: the log of notices says which file, at each attempt anew."""
    assert names.known
    for file in (tmp_path / "gone.pem", tmp_path / "text.pem"):
        (tmp_path / "text.pem").write_text("no certificate", encoding="utf-8")
        assert f"ca_file {file} cannot be read" in (await sent(f"https://{NAME}/", ca_file=file)).error


async def test_a_proxy_is_asked_for_an_address_that_was_looked_at(authority: Authority, names: Names) -> None:
    """P13: not for the name, which could mean another machine there; TLS is with the webhook, under its name."""
    assert names.known
    async with a_webhook(authority) as (url, hosts), a_proxy() as proxy:
        way = f"http://ann:hunter2@proxy.test:{proxy.port}"

        answer = await sent(url, ca_file=authority.ca_file, proxy=way)

        port = url.rpartition(":")[2].partition("/")[0]
        assert (answer.status, proxy.asked, hosts) == (204, [f"127.0.0.1:{port}"], [f"{NAME}:{port}"])
        assert len(proxy.credentials) == 1
    async with a_webhook(authority, "other.test") as (url, hosts), a_proxy() as proxy:
        answer = await sent(url, ca_file=authority.ca_file, proxy=f"http://127.0.0.1:{proxy.port}")
        assert "Hostname mismatch" in answer.error
        assert (len(proxy.asked), hosts) == (1, [])


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "0.0.0.0"])  # noqa: S104 - refused
async def test_no_proxy_leads_where_no_notice_may_go(address: str, names: Names) -> None:
    """P13: what is private, or hands out credentials, is refused before the proxy hears of it, by name and number."""
    names.known[NAME] = address
    number = f"[{address}]" if ":" in address else address
    async with a_proxy() as proxy:
        for host in (NAME, number):
            answer = await sent(f"https://{host}/hook", private=False, proxy=f"http://127.0.0.1:{proxy.port}")
            assert "notices are never sent there" in answer.error or "no public address" in answer.error
        if address == "169.254.169.254":
            answer = await sent(f"https://{NAME}/hook", private=True, proxy=f"http://127.0.0.1:{proxy.port}")
            assert "notices are never sent there" in answer.error
        assert proxy.asked == []


async def test_a_proxy_that_refuses_or_is_gone_is_said_without_its_password(authority: Authority, names: Names) -> None:
    """P13, P4: the delivery is tried again as after any other trouble."""
    assert names.known
    async with a_webhook(authority) as (url, hosts), a_proxy() as proxy:
        proxy.refuses = True
        refused = await sent(url, ca_file=authority.ca_file, proxy=f"http://ann:hunter2@127.0.0.1:{proxy.port}")
        gone = await sent(url, ca_file=authority.ca_file, proxy="http://ann:hunter2@127.0.0.1:1")
    assert ("403" in refused.error, hosts) == (True, [])
    assert "127.0.0.1:1" in gone.error.replace("', 1", ":1")
    assert "hunter2" not in refused.error + gone.error


def test_a_proxy_that_is_no_address_stops_the_start() -> None:
    """P13: and one that is, is given as it is."""
    with pytest.raises(ValidationError, match="no address"):
        WebhookSettings.model_validate({"proxy": "proxy:3128"})
    assert WebhookSettings.model_validate({"proxy": "http://p:3128"}).through() == "http://p:3128"
    assert WebhookSettings().through() is None

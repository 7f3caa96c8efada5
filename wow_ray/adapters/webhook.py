"""Sends notices to webhooks over HTTP: signed, in bounded time, and nowhere but where the settings say (P13).

The signature is that of Standard Webhooks, so that receivers verify it with a library: `webhook-id`,
`webhook-timestamp`, and `webhook-signature` over `id.timestamp.body` with HMAC-SHA256, once for each secret there is.

No redirect is followed. A name is looked up for each attempt, and what is connected to is what was looked at: every
address must be a public one, unless the webhook may be private; link-local addresses, where clouds keep their
credentials, are refused always. A proxy does not weaken that: the name is looked up here all the same, and the proxy is
asked for an address that was looked at, not for the name; TLS is with the webhook, which proves that it bears the name.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from wow_ray.errors import SettingsError
from wow_ray.policy.notices import cut
from wow_ray.policy.redelivery import LONGEST
from wow_ray.policy.retry_after import retry_after
from wow_ray.ports.notices import Answer, Delivery
from wow_ray.redaction import safe

MOST_READ = 2_048
"""Bytes of an answer that are looked at."""
MOST_TEXT = 300
TAKEN = range(200, 300)
REDIRECTS = range(300, 400)
AGENT = "wow-ray"

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Target:
    """Where one webhook is; `url` and `secrets` are asked for at each attempt, and raise `SettingsError`.

    No secret = not signed. `private` = it may be on this machine or in a private network, and without TLS. `ca_file`
    holds authorities that are believed besides the machine's, read at each attempt. `proxy` is the address of one.
    """

    url: Callable[[], str]
    secrets: Callable[[], Sequence[str]]
    private: bool = False
    ca_file: Path | None = None
    proxy: str | None = None


class RefusedError(Exception):
    """An address is not to be sent to."""


class WebhookSender:
    """`ports.notices.Sender` over HTTP."""

    def __init__(self, targets: Mapping[str, Target], timeout: float) -> None:
        """Connect to nothing yet; an attempt takes at most `timeout` seconds in all."""
        self._targets = targets
        self._timeout = timeout

    async def send(self, webhook: str, delivery: Delivery, now: datetime) -> Answer:
        """See the port."""
        try:
            target = self._targets[webhook]
            url = checked_url(target.url(), private=target.private)
            headers = headers_of(delivery, now, target.secrets())
            return await self._posted(url, delivery.body.encode(), headers, now, target=target)
        except TimeoutError:
            return Answer(None, f"no answer within {self._timeout:g} s")
        except SettingsError as error:
            return Answer(None, _text(error.message))
        except Exception as error:  # noqa: BLE001 - whatever a server does, the answer says what is wrong
            refused = _cause(error, RefusedError)
            said = refused or error
            name = "" if refused is not None else f"{type(said).__name__}: "
            return Answer(None, _text(f"{name}{said}"))

    async def _posted(
        self,
        url: URL,
        body: bytes,
        headers: Mapping[str, str],
        now: datetime,
        *,
        target: Target,
    ) -> Answer:
        """Post it."""
        trust = None if target.ca_file is None else await asyncio.to_thread(_trusting, target.ca_file)
        # Where the proxy is was said by whoever said that there is one.
        resolver = _Guarded(private=target.private or target.proxy is not None)
        # A connection for each: one that was kept may be dead, and notices are few.
        connector = TCPConnector(resolver=resolver, force_close=True, use_dns_cache=False)
        async with (
            ClientSession(
                connector=connector,
                timeout=ClientTimeout(total=self._timeout),
                cookie_jar=DummyCookieJar(),
                auto_decompress=False,
            ) as session,
            session.post(
                url if target.proxy is None else await self._looked_at(url, private=target.private),
                data=body,
                headers={**headers, "Host": _host_of(url)},
                allow_redirects=False,
                proxy=target.proxy,
                ssl=trust or True,
                server_hostname=None if target.proxy is None else url.host,
            ) as response,
        ):
            return await _answer(response, now)

    async def _looked_at(self, url: URL, *, private: bool) -> URL:
        """Put an address that was looked at in the place of the name; raises `RefusedError` when there is none."""
        async with asyncio.timeout(self._timeout):
            resolver = _Guarded(private=private)
            found = await resolver.resolve(url.host or "", url.port or 0, socket.AF_UNSPEC)
        return url.with_host(found[0]["host"])


def headers_of(delivery: Delivery, now: datetime, secrets: Sequence[str]) -> dict[str, str]:
    """Give the headers of an attempt, signed with each secret."""
    stamp = str(int(now.timestamp()))
    signed = f"{delivery.id}.{stamp}.{delivery.body}".encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "webhook-id": delivery.id,
        "webhook-timestamp": stamp,
        "webhook-attempt": str(delivery.attempts),
    }
    if secrets:
        headers["webhook-signature"] = " ".join(f"v1,{signature(secret, signed)}" for secret in secrets)
    return headers


def signature(secret: str, signed: bytes) -> str:
    """Sign: HMAC-SHA256 in base64. A secret that begins with `whsec_` is the key in base64, any other the key itself.

    Raises `SettingsError` for a `whsec_` that is no base64.
    """
    key = secret.encode()
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except ValueError:
            raise SettingsError("a secret begins with whsec_ and is no base64 after that") from None
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def checked_url(text: str, *, private: bool) -> URL:
    """Read the address of a webhook; raises `SettingsError` for one that is none, or that may not be sent to."""
    try:
        url = URL(text.strip())
        host = url.host
    except ValueError as error:
        raise SettingsError(f"the webhook's url is no address: {error}") from None
    if url.scheme not in {"http", "https"} or not host:
        raise SettingsError("the webhook's url is no address of the form https://host/path")
    if url.user is not None or url.password is not None:
        raise SettingsError("the webhook's url carries a user or a password; sign with a secret instead")
    if url.scheme == "http" and not private:
        raise SettingsError("the webhook's url is http; use https, or set allow_private for one of your own network")
    with suppress(ValueError):  # a name: judged when it is looked up
        try:
            judge(ip_address(host), private=private)
        except RefusedError as error:
            raise SettingsError(str(error)) from None
    return url


def judge(address: Address, *, private: bool) -> None:
    """Raise `RefusedError` for an address that may not be sent to."""
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    found = inner or address
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        raise RefusedError(f"{found} is link-local, multicast or no address of a host; notices are never sent there")
    if not private and not found.is_global:
        raise RefusedError(f"{found} is no public address; set allow_private for a webhook in your own network")


def _trusting(ca_file: Path) -> ssl.SSLContext:
    """Believe the authorities of a file besides those of the machine; raises `SettingsError`."""
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"notices: ca_file {ca_file} cannot be read as certificates in PEM: {error}") from None
    return context


def _host_of(url: URL) -> str:
    """Write the host as the header names it."""
    host = url.host_subcomponent or ""
    return host if url.is_default_port() else f"{host}:{url.port}"


class _Guarded(AbstractResolver):
    """Looks names up, and gives no address that may not be sent to."""

    def __init__(self, *, private: bool) -> None:
        self._private = private
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Look a name up; raises `RefusedError` when one of its addresses is refused."""
        found = await self._resolver.resolve(host, port, family)
        for each in found:
            judge(ip_address(each["host"].partition("%")[0]), private=self._private)
        return found

    async def close(self) -> None:
        """There is nothing to close."""
        await self._resolver.close()


async def _answer(response: ClientResponse, now: datetime) -> Answer:
    """Judge an answer: 2xx is taken, whatever it says."""
    status = response.status
    if status in TAKEN:
        return Answer(status)
    if status in REDIRECTS:
        to = response.headers.get("Location", "nowhere")
        return Answer(status, _text(f"answers {status} to {to}; redirects are not followed, set the url it leads to"))
    body = ""
    with suppress(ClientError, TimeoutError):
        body = (await response.content.read(MOST_READ)).decode("utf-8", "replace")
    asked = retry_after(response.headers.get("Retry-After"), now, LONGEST)
    return Answer(status, _text(f"answers {status} {response.reason or ''}: {body}".rstrip(": ")), asked)


def _text(text: str) -> str:
    """Make a text fit to be kept and shown in one line."""
    return cut(" ".join(safe(text).split()), MOST_TEXT)


def _cause(error: BaseException, kind: type[Exception]) -> BaseException | None:
    """Find an error of a kind along the causes and contexts."""
    seen: Any = error
    for _ in range(8):
        if isinstance(seen, kind):
            return seen
        seen = seen.__cause__ or seen.__context__ if seen is not None else None
    return None

"""Sessions of browsers: a signed cookie that says who signed in and when, and the word that its forms carry.

Nothing is kept here: the cookie carries it, signed with a key that this process made for itself, so that a restart asks
everybody to sign in again. The token is not in it; a session ends at once when its token is withdrawn.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from dataclasses import dataclass

LIFE = 12 * 3_600.0
"""Seconds after which somebody signs in again: a shift, with its hand-over."""
COOKIE = "wow_ray_session"


@dataclass(frozen=True, slots=True)
class Session:
    """Who: `name` and the beginning of the token's hash, empty where no tokens are configured. `nonce` names it."""

    name: str
    digest: str
    begun: float
    nonce: str


class Seal:
    """Signs sessions and the words of their forms."""

    def __init__(self, key: bytes | None = None) -> None:
        """Sign with this key, else with a new one."""
        self._key = key or secrets.token_bytes(32)

    def new(self, name: str, digest: str, now: float) -> Session:
        """Begin a session; `now` is calendar time in seconds."""
        return Session(name, digest[:16], now, secrets.token_urlsafe(16))

    def sealed(self, session: Session) -> str:
        """Write a session as a cookie's value."""
        text = json.dumps([session.name, session.digest, session.begun, session.nonce]).encode()
        body = base64.urlsafe_b64encode(text).decode().rstrip("=")
        return f"{body}.{self._mac(f'session {body}')}"

    def opened(self, value: str, now: float) -> Session | None:
        """Read a cookie's value; `None` = it is not ours, or too old."""
        body, _, mac = value.partition(".")
        if not hmac.compare_digest(mac.encode(), self._mac(f"session {body}").encode()):
            return None
        try:
            name, digest, begun, nonce = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, binascii.Error):  # signed by us, so it cannot be; it is refused all the same
            return None
        return Session(name, digest, begun, nonce) if 0 <= now - begun + 60 <= LIFE + 60 else None

    def word(self, session: Session, realm: str = "") -> str:
        """Give the word that the forms of a session carry (CSRF); those of another service carry another one."""
        return self._mac(f"form {session.nonce} {realm}")

    def _mac(self, text: str) -> str:
        """Sign a text."""
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def cookie_of(seal: Seal, session: Session, scheme: str, name: str = COOKIE) -> str:
    """Write the cookie of a session: for this site only, out of reach of scripts, gone after `LIFE`."""
    secure = "; Secure" if scheme == "https" else ""
    return f"{name}={seal.sealed(session)}; Path=/; Max-Age={LIFE:.0f}; HttpOnly; SameSite=Strict{secure}"

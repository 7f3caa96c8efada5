"""Who a request is from, as far as it shows: by a token, by a session, or by being asked on this machine alone."""

from __future__ import annotations

import copy
import hmac
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

from wow_ray.errors import SettingsError
from wow_ray.ops.access.limiter import Failures
from wow_ray.ops.access.roles import Role
from wow_ray.ops.access.sessions import COOKIE, Seal, Session
from wow_ray.ops.access.source import TokenSource
from wow_ray.ops.access.tokens import Holder
from wow_ray.ports.clock import Clock

HERE = frozenset({"127.0.0.1", "localhost", "::1"})
"""What this machine calls itself."""

By = Literal["token", "session", "loopback"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks: the name is the audit's. `word` is what the forms of the session carry, empty for a token."""

    name: str
    role: Role
    by: By
    word: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a request is not let in; `after` = in how many seconds it may come again."""

    status: Literal[401, 403, 429]
    code: Literal["WOW-TOKEN", "WOW-ROLE", "WOW-REQUEST"]
    detail: str
    following: str
    after: float = 0.0


class Access:
    """Tokens, sessions and failures of one program that serves operators."""

    def __init__(
        self,
        source: TokenSource | None = None,
        clock: Clock | None = None,
        seal: Seal | None = None,
        *,
        cookie: str = COOKIE,
    ) -> None:
        """Without tokens everybody on this machine is an admin; without a clock no session grows old.

        `cookie` is the name of the one that carries a session: who lets in other people than its neighbour needs one
        of its own.
        """
        self.cookie = cookie
        self.realm = ""
        self._source = source or TokenSource()
        self._clock = clock
        self._failures = Failures()
        self.seal = seal or Seal()

    def of_service(self, name: str) -> Access:
        """Give the same people access to another service: one session serves both, a form only the one it is of."""
        other = copy.copy(self)
        other.realm = name
        return other

    @property
    def is_open(self) -> bool:
        """Whether no tokens are configured: then this machine alone is answered (S109)."""
        return not self._source.book().holders

    def check_binding(self, host: str) -> None:
        """Refuse to listen where others can ask while nobody is asked who they are; raises `SettingsError`."""
        if self.is_open and not is_here(host):
            raise SettingsError(
                f"ops.host is {host!r} and no token is configured, so anybody there could command this app; make one "
                "with `wow-ray token NAME --role operator` and set ops.tokens_file (WOW_RAY_OPS__TOKENS_FILE) to the "
                "file that holds it, or listen on 127.0.0.1"
            )

    def by_token(self, token: str, address: str) -> Visitor | Refused:
        """Let in who holds a token, unless the address was wrong too often."""
        if (refused := self._waits(address)) is not None:
            return refused
        holder = self._source.book().holder_of(token)
        if holder is None:
            self._failures.failed(address, self._monotonic())
            return self._waits(address) or Refused(
                401, "WOW-TOKEN", "there is no such token", "ask whoever keeps the tokens for one"
            )
        self._failures.forget(address)
        return Visitor(holder.name, holder.role, "token")

    def knows(self, token: str | None, cookie: str | None) -> bool:
        """Whether who was let in elsewhere with these may look here, too; a wrong one is no failure."""
        if self.is_open:
            return True
        if token is not None and self._source.book().holder_of(token) is not None:
            return True
        return self.by_session(cookie) is not None

    def signed_in(self, token: str, address: str) -> Session | Refused:
        """Begin a session of who holds a token."""
        visitor = self.by_token(token, address)
        if isinstance(visitor, Refused):
            return visitor
        holder = self._source.book().named(visitor.name)
        return self.seal.new(visitor.name, "" if holder is None else holder.digest, self.now())

    def by_session(self, cookie: str | None) -> tuple[Visitor, Session] | None:
        """Let in who has a session whose token is in force still."""
        session = None if cookie is None else self.seal.opened(cookie, self.now())
        if session is None:
            return None
        if self.is_open:
            return (self._everybody(session), session) if not session.name else None
        holder = self._source.book().named(session.name)
        if holder is None or not _is_of(session, holder):
            return None
        return Visitor(holder.name, holder.role, "session", self._word(session)), session

    def by_being_here(self) -> tuple[Visitor, Session]:
        """Begin a session without a name, where no tokens are configured."""
        session = self.seal.new("", "", self.now())
        return self._everybody(session), session

    def now(self) -> float:
        """Give the calendar time in seconds, 0 without a clock."""
        return 0.0 if self._clock is None else self._clock.now().timestamp()

    def _everybody(self, session: Session) -> Visitor:
        return Visitor("console", Role.ADMIN, "loopback", self._word(session))

    def _word(self, session: Session) -> str:
        return self.seal.word(session, self.realm)

    def _monotonic(self) -> float:
        return 0.0 if self._clock is None else self._clock.monotonic()

    def _waits(self, address: str) -> Refused | None:
        """Refuse an address that was wrong too often."""
        after = self._failures.wait(address, self._monotonic())
        if after <= 0:
            return None
        return Refused(
            429, "WOW-TOKEN", f"wrong tokens came from {address} too often", "wait, then use a right one", after
        )


def is_word(visitor: Visitor, given: str | None) -> bool:
    """Whether a form carries the word of its session."""
    return bool(visitor.word) and hmac.compare_digest((given or "").encode(), visitor.word.encode())


def is_here(host: str | None) -> bool:
    """Whether a name or an address is this machine's own, and nobody else's."""
    if host in HERE:
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def _is_of(session: Session, holder: Holder) -> bool:
    """Whether a session was begun with the token that this holder has now."""
    return bool(session.digest) and holder.digest.startswith(session.digest)

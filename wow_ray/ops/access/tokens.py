"""Tokens as they are kept: by name, role and hash, never by themselves.

A line is `ann operator sha256:9f86…`; `#` begins a remark. A token is 256 bits of chance, which no list of words holds,
so that one round of SHA-256 keeps it; a name stands once, because the audit knows people by it.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from wow_ray.errors import SettingsError
from wow_ray.ops.access.roles import Role

SCHEME = "sha256:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}\Z")
_HASH = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a token: the name that the audit keeps, the role, the hash of the token."""

    name: str
    role: Role
    digest: str

    def line(self) -> str:
        """Write it as it stands in a file of tokens."""
        return f"{self.name} {self.role.value} {SCHEME}{self.digest}"


@dataclass(frozen=True, slots=True)
class TokenBook:
    """All holders of tokens. Empty = nobody was given one."""

    holders: tuple[Holder, ...] = ()

    @classmethod
    def parsed(cls, text: str, source: str) -> TokenBook:
        """Read lines; raises `SettingsError` naming the source and the line's number, never what stands there."""
        found: dict[str, Holder] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            holder = _holder(words, f"{source}, line {number}")
            if holder.name in found:
                raise SettingsError(f"{source}, line {number}: {holder.name!r} stands there twice; one name, one token")
            found[holder.name] = holder
        return cls(tuple(found.values()))

    def holder_of(self, token: str) -> Holder | None:
        """Find who holds a token; takes as long for a wrong one as for a right one, wherever it stands."""
        digest, found = hashed(token), None
        for holder in self.holders:
            if hmac.compare_digest(holder.digest, digest):
                found = holder
        return found

    def named(self, name: str) -> Holder | None:
        """Give the holder of that name."""
        return next((holder for holder in self.holders if holder.name == name), None)


def hashed(token: str) -> str:
    """Hash a token as it is kept."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def made_token(name: str, role: Role) -> tuple[str, Holder]:
    """Make a token for somebody: the token, to be told once, and its holder, to be kept. Raises `SettingsError`."""
    _check_name(name, "the token's name")
    token = f"wow_{secrets.token_urlsafe(32)}"
    return token, Holder(name, role, hashed(token))


def _holder(words: Iterable[str], where: str) -> Holder:
    """Read one line's words."""
    name, role, digest, *more = (*words, "", "", "")
    if any(more) or not digest.startswith(SCHEME) or _HASH.match(digest.removeprefix(SCHEME)) is None:
        raise SettingsError(f"{where}: a token's line is `name role sha256:…`, as `wow-ray token` writes it")
    _check_name(name, where)
    if role not in set(Role):
        raise SettingsError(f"{where}: the role of {name!r} is one of {', '.join(Role)}")
    return Holder(name, Role(role), digest.removeprefix(SCHEME))


def _check_name(name: str, where: str) -> None:
    """Refuse a name that a header or the audit cannot carry."""
    if _NAME.match(name) is None:
        raise SettingsError(f"{where}: a name has 1 to 64 letters, digits or any of `_.@+-`, and begins with no sign")

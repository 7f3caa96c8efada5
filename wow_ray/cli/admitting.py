"""Who is let in to the console and the API, as the settings say."""

from __future__ import annotations

from pathlib import Path

from wow_ray.cluster import SystemClock
from wow_ray.ops.access import Access, TokenSource
from wow_ray.ops.access.sessions import COOKIE
from wow_ray.settings import Settings


def access_of(settings: Settings) -> Access:
    """Read who is let in; raises `SettingsError` for a file or a line that is wrong."""
    ops = settings.ops
    lines = None if ops.tokens is None else ops.tokens.get_secret_value()
    return Access(TokenSource(ops.tokens_file, lines), SystemClock())


def access_to(tokens_file: Path | None, lines: str | None, service: str) -> Access:
    """Read who is let in to a service that has people of its own; raises as `access_of` does."""
    return Access(TokenSource(tokens_file, lines), SystemClock(), cookie=f"{COOKIE}_{service}")

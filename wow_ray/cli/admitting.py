"""Who is let in to the console and the API, as the settings say."""

from __future__ import annotations

from wow_ray.cluster import SystemClock
from wow_ray.ops.access import Access, TokenSource
from wow_ray.settings import Settings


def access_of(settings: Settings) -> Access:
    """Read who is let in; raises `SettingsError` for a file or a line that is wrong."""
    ops = settings.ops
    lines = None if ops.tokens is None else ops.tokens.get_secret_value()
    return Access(TokenSource(ops.tokens_file, lines), SystemClock())

"""Saves: noticing that an app's files have changed, and whether what was saved can be run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from wow_ray.ports.clock import Clock

POLL = 0.3
"""Seconds between two looks at the files; a save counts once a look finds nothing new, so half a save is never read."""
MOST_FILES = 10_000
CHECK_BOUND = 60.0
"""Seconds an app may take to be imported."""
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})

Stamps = Mapping[Path, tuple[int, int]]


def stamps(folders: Iterable[Path], extra: Path | None = None) -> Stamps:
    """Give time and size of every Python file and `wow-ray.toml` below the folders, at most `MOST_FILES`."""
    found: dict[Path, tuple[int, int]] = {}
    for path in (*([] if extra is None else [extra]), *_files(folders)):
        try:
            stat = path.stat()
        except OSError:  # gone again: editors write beside and move
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size)
        if len(found) >= MOST_FILES:
            break
    return found


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    """Give the files worth watching; hidden folders, environments and caches are left out."""
    for folder in folders:
        for place, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".") and name not in _SKIPPED]
            yield from (Path(place, name) for name in files if name.endswith(".py") or name == "wow-ray.toml")


class Watch:
    """What the files were like when they were last looked at; begin before the app is imported."""

    def __init__(self, folders: Iterable[Path], extra: Path | None, clock: Clock) -> None:
        """Look once; `extra` is one more file, the settings."""
        self._folders = tuple(folders)
        self._extra = extra
        self._clock = clock
        self._seen = stamps(self._folders, extra)

    async def changed(self) -> tuple[Path, ...]:
        """Wait for a save and until it is whole; answers the files that differ."""
        before = last = self._seen
        while True:
            await self._clock.sleep(POLL)
            now = await asyncio.to_thread(stamps, self._folders, self._extra)
            if now == last and now != before:
                self._seen = now
                return tuple(sorted(path for path in {*now, *before} if now.get(path) != before.get(path)))
            last = now

    async def stale(self) -> bool:
        """Whether there was a save since the last one that `changed` answered."""
        return await asyncio.to_thread(stamps, self._folders, self._extra) != self._seen


async def check(target: str, settings: Path | None, environ: Mapping[str, str], folder: Path) -> str:
    """Load and resolve the app in a process of its own; answers what is wrong, or an empty text."""
    arguments = [sys.executable, "-B", "-m", "wow_ray.cli.checking", target]
    arguments += [] if settings is None else [str(settings)]
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(environ),
        cwd=folder,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), CHECK_BOUND)
    except TimeoutError:
        return f"importing it takes longer than {CHECK_BOUND:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return ""
    try:
        error = json.loads(said.decode().rstrip().rpartition("\n")[2])["error"]
        return f"{error['code']} {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"importing it ended its process with {process.returncode}"

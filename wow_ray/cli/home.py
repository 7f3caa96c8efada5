"""What a `dev` process keeps while it replaces its program: the private server, the environment, the folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from wow_ray.cluster import Database, EmbeddedPostgres, database_of, hand_over, start_embedded, state_dir_of, take_over
from wow_ray.settings import Settings

HANDED = "_WOW_RAY_DEV"
"""The name under which a program that is replaced leaves word to the next one."""


class Home:
    """Made first thing in the process: what the app's import changes in the environment is not kept."""

    def __init__(self) -> None:
        """Take over what the program before this one left, if there was one."""
        left = os.environ.pop(HANDED, "")
        self.environ = dict(os.environ)
        self.folder = Path.cwd()
        told = json.loads(left) if left else {}
        self.reloaded: bool = told.get("pid") == os.getpid()
        """Whether an earlier program of this process ran the app."""
        self.started = False
        """Whether this program has come to run the app."""
        self.watched: tuple[Path, ...] = tuple(map(Path, told.get("watched", ())))
        handed = told.get("server") if self.reloaded else None
        self.server: EmbeddedPostgres | None = take_over(handed) if handed else None

    def database(self, context: str, settings: Settings, data_dir: Path | None) -> Database:
        """Give the store to run on, starting the private server when there is no DSN and it does not run yet."""
        wanted = None if settings.dsn() is not None else state_dir_of(context, data_dir).resolve()
        if self.server is not None and self.server.state_dir != wanted:
            self.close()
        if wanted is not None and self.server is None:
            self.server = start_embedded(context, data_dir)
        return database_of(settings, context, data_dir, dsn=None if self.server is None else self.server.dsn)

    def again(self, watched: Iterable[Path]) -> NoReturn:
        """Replace this program by a new start of itself, in the same process; the private server lives on."""
        told = {
            "pid": os.getpid(),
            "watched": list(map(str, watched)),
            "server": None if self.server is None else hand_over(self.server),
        }
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(self.folder)
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, {**self.environ, HANDED: json.dumps(told)})  # noqa: S606 - our own program

    def close(self) -> None:
        """Stop the private server, if there is one."""
        if self.server is not None:
            self.server.stop()
            self.server = None

# ruff: noqa: SLF001 - the other half of `EmbeddedPostgres`, kept apart because only a program that replaces itself needs it
"""Keeping a private Postgres through `exec`: the program that takes this one's place goes on owning the server.

The process stays the same, and with it the lock, the shell's parent and the pipe that stands for the owner's life; what
is lost is what only memory knew. That travels as a text: through the environment, never to another process.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import BinaryIO, cast

from wow_ray.adapters.embedded.server import EmbeddedPostgres
from wow_ray.adapters.embedded.state import EmbeddedPostgresError


class _Shell:
    """The shell that runs the server, known by its number: the part of a `Popen` that the owner uses."""

    def __init__(self, pid: int, stdin: BinaryIO) -> None:
        self.pid = pid
        self.stdin = stdin
        self.returncode: int | None = None

    def wait(self, timeout: float) -> int:
        """Wait until it has ended; it does soon after the server has."""
        del timeout
        if self.returncode is None:
            try:
                self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            except ChildProcessError:  # somebody else of this program has collected it
                self.returncode = 0
        return self.returncode


def hand_over(server: EmbeddedPostgres) -> str:
    """Make a running server survive `exec`; answers the text for `take_over`. This object is of no use afterwards."""
    process, lock = server._process, server._lock
    if process is None or process.stdin is None or lock is None:
        raise EmbeddedPostgresError("the private Postgres is not started, so nobody can go on with it")
    for descriptor in (lock, process.stdin.fileno()):
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the form is the system's
    return json.dumps(
        {
            "state_dir": str(server.state_dir),
            "data": str(server._data),
            "sockets": str(server._sockets),
            "dsn": server._dsn,
            "pid": server._pid,
            "shell": process.pid,
            "stdin": process.stdin.fileno(),
            "lock": lock,
        }
    )


def take_over(handed: str) -> EmbeddedPostgres:
    """Go on owning the server that `hand_over` left; for the program that took the other's place, once."""
    told = json.loads(handed)
    server = EmbeddedPostgres(Path(told["state_dir"]))
    for descriptor in (told["lock"], told["stdin"]):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - the form is the system's
    server._lock = told["lock"]
    server._data, server._sockets = Path(told["data"]), Path(told["sockets"])
    server._dsn, server._pid = told["dsn"], told["pid"]
    shell = _Shell(told["shell"], os.fdopen(told["stdin"], "wb", buffering=0))
    server._process = cast("subprocess.Popen[bytes]", shell)
    return server

"""A real Redis of a test's own: on a free port of 127.0.0.1, to be killed and started again there."""

import contextlib
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pgbouncer import free_port
from tests.waiting import until_blocking

# Ends with the tests even if they are killed: the end of the pipe on its standard input ends it.
_TIED = 'exec 3<&0; "$@" 3<&- </dev/null & p=$!; echo $p; (read -r _ <&3; kill -KILL $p) & w=$!; wait $p; kill $w'


class RedisServer:
    """A server that keeps nothing, behind a password."""

    def __init__(self, program: str, place: Path) -> None:
        """Start nothing yet."""
        self.port = free_port()
        self.password = secrets.token_hex(12)
        self.url = f"redis://:{self.password}@127.0.0.1:{self.port}/0"
        self._program = program
        self._place = place
        self._config = place / "redis.conf"
        self._config.write_text(
            f'bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\ndir {place}\nsave ""\nappendonly no\n',
            encoding="utf-8",
        )
        self._process: subprocess.Popen[str] | None = None
        self.pid = 0

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        with (self._place / "log").open("wb") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _TIED, "redis", self._program, str(self._config), "--logfile", "log"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self.pid = int(self._process.stdout.readline())
        until_blocking(self._accepts, "redis-server to accept connections")

    def kill(self) -> None:
        """End it as kill -9 does, and wait for its end."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(10)
            self._process.stdout.close()
            self._process = None

    def _accepts(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


@contextlib.contextmanager
def running_redis() -> Iterator[RedisServer]:
    """Give a running server, or skip and say how to get one."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("missing tool: apt-get install redis-server")
    place = Path(tempfile.mkdtemp(prefix="wow-ray-redis-"))
    server = RedisServer(program, place)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(place, ignore_errors=True)

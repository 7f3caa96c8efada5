"""A real pgbouncer in transaction mode, in front of a Postgres, for as long as a test session lasts."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.waiting import until_blocking
from wow_ray.adapters.embedded.binaries import server_user

# Ends with the tests even if they are killed: the end of the pipe on its standard input ends it.
_TIED = 'exec 3<&0; "$@" 3<&- </dev/null & p=$!; (read -r _ <&3; kill -INT $p) & w=$!; wait $p; kill $w'


def find_pgbouncer() -> str:
    """The program, or a skip that says how to get it."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("missing tool: apt-get install pgbouncer")
    return program


def free_port() -> int:
    """A TCP port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _target(dsn: str) -> tuple[str, str]:
    """The pgbouncer line that leads to `dsn`, and the database's name."""
    parts = urlsplit(dsn)
    query = parse_qs(parts.query)
    host = query["host"][0] if "host" in query else parts.hostname or "127.0.0.1"
    port = query["port"][0] if "port" in query else str(parts.port or 5432)
    line = f"host={host} port={port} user={unquote(parts.username or 'postgres')}"
    if parts.password:
        line += f" password='{unquote(parts.password)}'"
    return line, parts.path.strip("/") or "postgres"


@contextlib.contextmanager
def running_pgbouncer(dsn: str) -> Iterator[str]:
    """Start it on a free port of 127.0.0.1 and give the DSN that leads through it."""
    program = find_pgbouncer()
    user = server_user()  # it refuses to run as root, as Postgres does
    place = Path(tempfile.mkdtemp(prefix="wow-ray-pgbouncer-"))
    port, password = free_port(), secrets.token_hex(12)
    line, database = _target(dsn)
    (place / "users.txt").write_text(f'"tests" "{password}"\n', encoding="utf-8")
    (place / "pgbouncer.ini").write_text(
        f"[databases]\n* = {line}\n[pgbouncer]\npool_mode = transaction\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = scram-sha-256\nauth_file = {place}/users.txt\n"
        "max_client_conn = 500\ndefault_pool_size = 20\nlog_connections = 0\nlog_disconnections = 0\n",
        encoding="utf-8",
    )
    for path in (place, *place.iterdir()):
        user.give(path)
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _TIED, "pgbouncer", program, str(place / "pgbouncer.ini")],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            user=user.uid,
            group=user.gid,
            extra_groups=user.groups,
            start_new_session=True,
        )

    def accepts() -> bool:
        if process.poll() is not None:
            raise AssertionError((place / "log").read_text(encoding="utf-8", errors="replace"))
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    try:
        until_blocking(accepts, "pgbouncer to accept connections")
        yield f"postgresql://tests:{password}@127.0.0.1:{port}/{database}"
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait(10)
        shutil.rmtree(place, ignore_errors=True)

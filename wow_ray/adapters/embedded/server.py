"""The life of a private Postgres: started, found, stopped, and never outliving the process that owns it."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from wow_ray.adapters.embedded.binaries import ENVIRONMENT, Binaries, User, find_binaries, server_user
from wow_ray.adapters.embedded.data import SOCKETS_PREFIX, end_server, place_data, prepare_data, ready_server
from wow_ray.adapters.embedded.state import EmbeddedPostgresError, lock_state_dir, make_state_dir, write_server

# A shell keeps the server tied to our end of its standard input: when we are gone, even by kill -9, a second shell
# reads the end of it and asks the server for a fast shutdown; when the server is gone, the first one ends too.
# Both would have to be killed to leave the server behind; the next owner of the state folder ends it then.
_TIED_TO_OWNER = """
exec 3<&0
trap '' INT
sockets=$1; shift
"$@" 3<&- </dev/null & server=$!
(read -r _ <&3; kill -INT $server 2>/dev/null) & watcher=$!
wait $server; code=$?
kill $watcher 2>/dev/null
rmdir "$sockets" 2>/dev/null
exit $code
"""
_STOP_SECONDS = 20.0
_LOG_BYTES = 5_000_000
# "/.s.PGSQL.65535" follows, and a socket's path is cut at about 104 bytes on macOS.
_SOCKET_FOLDER_BYTES = 80
_SOCKET_PORT = 5432


class EmbeddedPostgres:
    """A Postgres of one's own, in one folder, owned by the process that starts it.

    It listens on a Unix socket in a folder that only the owner's user (and root) can enter. With `port` it also
    listens on 127.0.0.1, for processes that must come over TCP; those need the password that `dsn` carries.

    As root the server runs under the user `postgres` or `nobody`. If that user cannot reach `state_dir`, the data
    lie in `/var/lib/wow-ray/<name of state_dir>-<hash>` and `state_dir/pg` links there; programs from a wheel that
    it cannot reach are copied to `/var/cache/wow-ray` once.

    `state_dir` holds `lock`, `server.json` (0600: `dsn`, `pid` of the owner, `started`) while it runs, `password`
    (0600), `log`, and the data in `pg`. Data survive; nothing else is needed from one start to the next.

    `start` and `stop` block (0.1 s, the first start 2 s): call them through `asyncio.to_thread` where a loop runs.
    A child that is forked from the owner does not own the server; one that is spawned never did.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        port: int | None = None,
        durable: bool = True,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            state_dir: the folder; made, with its parents, where it is missing.
            port: TCP port on 127.0.0.1, or `None` for the socket alone.
            durable: `False` lets a power cut lose the data, for speed: tests only.
            conf: further settings of `postgresql.conf`, by name.
        """
        self.state_dir = Path(state_dir).resolve()
        self._port = port
        safe = "on" if durable else "off"
        self._durable = durable
        self._conf = {
            "fsync": safe,
            "synchronous_commit": safe,
            "full_page_writes": safe,
            "max_connections": "500",
            "shared_buffers": "128MB",
            "max_wal_size": "1GB",
            **(conf or {}),
        }
        self._lock: int | None = None
        self._data = self.state_dir / "pg"
        self._sockets: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._dsn: str | None = None
        _living.add(self)

    @property
    def dsn(self) -> str:
        """The address of the running server; over TCP, with its password, if there is a port."""
        if self._dsn is None:
            raise EmbeddedPostgresError("the private Postgres is not started")
        return self._dsn

    @property
    def pid(self) -> int:
        """The id of the running server's main process."""
        if self._pid is None:
            raise EmbeddedPostgresError("the private Postgres is not started")
        return self._pid

    def start(self, timeout: float = 30.0) -> Self:
        """Start, and wait until connections are accepted.

        Raises `EmbeddedPostgresError`, with the next step, if the folder has another owner, the programs are
        missing, the disk is full or closed, the data are of another version, or it takes more than `timeout`
        seconds. Whatever had been started is stopped then.
        """
        if self._lock is not None:
            raise EmbeddedPostgresError("the private Postgres is started already")
        try:
            self._start(time.monotonic() + timeout)
        except OSError as error:
            self.stop()
            raise EmbeddedPostgresError(
                f"no private Postgres in {self.state_dir}: {error}; make the place writable (and not full), "
                "or choose another state folder"
            ) from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server (open transactions roll back), remove `server.json`, let the folder go; repeat at will."""
        if self._lock is None:
            return
        try:
            with contextlib.suppress(OSError):
                (self.state_dir / "server.json").unlink(missing_ok=True)
            self._end()
        finally:
            if self._sockets is not None:
                shutil.rmtree(self._sockets, ignore_errors=True)
            os.close(self._lock)
            self._lock = self._process = self._sockets = self._pid = self._dsn = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _start(self, deadline: float) -> None:
        make_state_dir(self.state_dir)
        self._lock = lock_state_dir(self.state_dir)
        user = server_user()
        binaries = find_binaries(user)
        self._data = place_data(self.state_dir, user)
        end_server(self._data, deadline)
        prepare_data(self._data, binaries, user, self.state_dir / "password", durable=self._durable)
        dsn = self._address(sockets := self._make_sockets(user))
        self._process, said_before = self._launch(self._data, sockets, binaries, user)
        self._pid = self._wait_until_ready(self._process, sockets, deadline, said_before)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        write_server(self.state_dir, {"dsn": dsn, "pid": os.getpid(), "started": started})
        self._dsn = dsn

    def _make_sockets(self, user: User) -> Path:
        parent = tempfile.gettempdir()
        # A comma would part the path in two for the server.
        if len(os.fsencode(parent)) > _SOCKET_FOLDER_BYTES - 20 or "," in parent or not user.reaches(Path(parent)):
            parent = "/tmp"  # noqa: S108 - mkdtemp makes a folder of its own in it
        self._sockets = Path(tempfile.mkdtemp(prefix=SOCKETS_PREFIX, dir=parent))
        user.give(self._sockets)
        return self._sockets

    def _address(self, sockets: Path) -> str:
        if self._port is None:
            # The port names the socket's file; without it PGPORT would be believed.
            return f"postgresql://postgres@/postgres?host={sockets}&port={_SOCKET_PORT}"
        try:
            password = (self.state_dir / "password").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise EmbeddedPostgresError(
                f"the password of the server in {self.state_dir} is lost: start it without a port, or move the "
                "folder `pg` away to begin with an empty one"
            ) from None
        return f"postgresql://postgres:{password}@127.0.0.1:{self._port}/postgres"

    def _launch(self, data: Path, sockets: Path, binaries: Binaries, user: User) -> tuple[subprocess.Popen[bytes], int]:
        """Start the server under its shell; answers the shell, and how long the log was before."""
        log = self.state_dir / "log"
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_name("log.1"))
        command = [str(binaries.folder / "postgres"), "-D", str(data), "-k", str(sockets)]
        command += ["-p", str(self._port or _SOCKET_PORT), "-h", "127.0.0.1" if self._port else ""]
        for name, value in self._conf.items():
            command += ["-c", f"{name}={value}"]
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as file:
            said_before = file.tell()
            shell = subprocess.Popen(
                ["/bin/sh", "-c", _TIED_TO_OWNER, "wow-ray-postgres", str(sockets), *command],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                cwd="/",
                env=ENVIRONMENT,
                user=user.uid,
                group=user.gid,
                extra_groups=user.groups,
                # The terminal's Ctrl-C is for the owner, who then stops the server in good order.
                start_new_session=True,
            )
        return shell, said_before

    def _wait_until_ready(
        self, shell: subprocess.Popen[bytes], sockets: Path, deadline: float, said_before: int
    ) -> int:
        """The id of the server's main process, once it says in its data folder that it accepts connections."""
        while time.monotonic() < deadline:
            if shell.poll() is not None:
                raise EmbeddedPostgresError(f"the private Postgres ended at once: {self._said(said_before)}")
            if (pid := ready_server(self._data, sockets)) is not None:
                return pid
            time.sleep(0.005)
        raise EmbeddedPostgresError(f"the private Postgres did not start in time: {self._said(said_before)}")

    def _said(self, said_before: int) -> str:
        log = self.state_dir / "log"
        with log.open("rb") as file:
            file.seek(max(said_before, log.stat().st_size - 2000))
            text = file.read().decode(errors="replace").strip()
        if "could not bind" in text:
            return f"port {self._port} is taken; choose another one\n{text}"
        return f"{text}\n(all of it: {log})"

    def _end(self) -> None:
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            # The shells do this too; asked again here in case they were killed.
            end_server(self._data, time.monotonic() + _STOP_SECONDS)
            self._process.wait(_STOP_SECONDS)
        except (EmbeddedPostgresError, subprocess.TimeoutExpired):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_STOP_SECONDS)

    def _disown(self) -> None:
        """In a forked child: keep neither the lock nor the pipe, both of which stand for the owner's life."""
        if self._lock is not None:
            os.close(self._lock)
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.returncode = 0  # not our child: nothing to wait for, nothing to warn of
        self._lock = self._process = self._sockets = self._pid = self._dsn = None


_living: "weakref.WeakSet[EmbeddedPostgres]" = weakref.WeakSet()


def _disown_all() -> None:
    for server in list(_living):
        server._disown()  # noqa: SLF001 - the same module; no method of the public class


os.register_at_fork(after_in_child=_disown_all)

"""Who owns a private Postgres, and where others find it: the state folder with its lock and `server.json`."""

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

# A reader of the lock holds it for an instant (`find_server`), which must not look like a second owner.
_LOCK_PATIENCE_SECONDS = 0.3


class EmbeddedPostgresError(RuntimeError):
    """The private Postgres cannot be had; the message says why and what to do next."""


def default_state_dir(context: str) -> Path:
    """Where a bounded context keeps its private server: `$XDG_STATE_HOME/wow-ray/<context>`.

    Without `XDG_STATE_HOME`, or where that is not absolute, `~/.local/state` takes its place.
    """
    if not context or context in {".", ".."} or "/" in context:
        raise ValueError(f"{context!r} cannot name a folder")
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        base = Path.home() / ".local" / "state"
    return base / "wow-ray" / context


def find_server(state_dir: Path) -> str | None:
    """The DSN of the server that lives in `state_dir`, or `None` where none runs.

    Answered only while its owner lives and holds the lock, so a file left by a killed owner is not believed.
    The server may still go away at any time: it lives as long as its owner.
    """
    try:
        server = json.loads((state_dir / "server.json").read_text(encoding="utf-8"))
        dsn, owner = str(server["dsn"]), int(server["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dsn if is_alive(owner) and _is_locked(state_dir / "lock") else None


def is_alive(pid: int) -> bool:
    """Whether a process of that id exists; it may be a zombie, or another one that got the id since."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def make_state_dir(state_dir: Path) -> None:
    """Create the folder and its parents, or accept one that belongs to us; an existing folder keeps its mode.

    Root's folder can be passed through by others (0711), since its server runs under another uid; what lies in it
    is for its owner alone.
    """
    state_dir.parent.mkdir(parents=True, exist_ok=True)
    # mkdir's mode is cut by the umask, so the folder starts closed and is opened by name.
    with contextlib.suppress(FileExistsError):
        state_dir.mkdir(mode=0o700)
        if os.geteuid() == 0:
            state_dir.chmod(0o711)
    found = state_dir.lstat()
    if found.st_uid != os.geteuid() or not state_dir.is_dir():
        raise EmbeddedPostgresError(f"{state_dir} belongs to another user; choose another state folder")


def lock_state_dir(state_dir: Path) -> int:
    """Take the lock that makes this process the one owner; answers the descriptor that holds it.

    It is let go when the descriptor is closed, which the system does for a process that dies.
    """
    descriptor = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise EmbeddedPostgresError(_taken(state_dir)) from None
            time.sleep(0.01)
        else:
            return descriptor


def _taken(state_dir: Path) -> str:
    owner = "another process"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        owner = f"process {json.loads((state_dir / 'server.json').read_text(encoding='utf-8'))['pid']}"
    return (
        f"the private Postgres in {state_dir} belongs to {owner}, which runs: "
        "connect to it (its address is in server.json), stop that process, or choose another state folder"
    )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read (0600), whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_server(state_dir: Path, server: Mapping[str, object]) -> None:
    """Say where the server is, for `find_server`."""
    write_private(state_dir / "server.json", json.dumps(server, indent=2) + "\n")

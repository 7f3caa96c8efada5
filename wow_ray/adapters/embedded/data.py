"""The data folder of a private Postgres: where it lies, how it is made, and what a killed owner left in it."""

import contextlib
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from wow_ray.adapters.embedded.binaries import Binaries, User, ensure_root_folder
from wow_ray.adapters.embedded.state import EmbeddedPostgresError, is_alive, write_private

# Where root's data lie if the server's user cannot reach the state folder.
ROOT_DATA = Path("/var/lib/wow-ray")
# How the folders of sockets are called, so that one left over is known for what it is.
SOCKETS_PREFIX = "wow-ray-pg-"
# The line of postmaster.pid that names that folder, from 0; line 7 says whether the server is ready.
_SOCKETS_LINE, _READY_LINE = 4, 7


def place_data(state_dir: Path, user: User) -> Path:
    """Where the data of this state folder lie: `pg` in it, or what `pg` links to.

    Root's server runs under another user, who cannot reach a state folder below a closed home (0700). No such
    folder is opened for it: the data then lie in `/var/lib/wow-ray/<name>-<hash of the state folder>`, linked from
    the state folder. The link is kept, so the data are found again whatever the modes are later.
    """
    inside = state_dir / "pg"
    if not inside.is_symlink() and (inside.exists() or user.reaches(state_dir)):
        if not user.reaches(state_dir):
            raise EmbeddedPostgresError(
                f"the server's user (uid {user.uid}) cannot reach {inside}, where the data are: "
                "open its parents to be passed through (chmod o+x), or choose another state folder"
            )
        return inside
    digest = hashlib.sha256(str(state_dir).encode()).hexdigest()[:12]
    elsewhere = ROOT_DATA / f"{state_dir.name}-{digest}"
    ensure_root_folder(ROOT_DATA)
    ensure_root_folder(elsewhere, mode=0o711)
    if not inside.is_symlink():
        inside.symlink_to(elsewhere / "pg")
    return elsewhere / "pg"


def prepare_data(data: Path, binaries: Binaries, user: User, password_file: Path, *, durable: bool) -> None:
    """Make the data folder if there is none, else check that these programs can read it.

    It is made beside its place and moved there when it is whole, so a crash leaves no half of one. A new superuser
    password, needed for TCP alone, is written to `password_file` (0600).
    """
    try:
        major = (data / "PG_VERSION").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        if data.exists() and any(data.iterdir()):
            raise EmbeddedPostgresError(
                f"{data} holds something other than a Postgres: move it away, or choose another state folder"
            ) from None
        _initialise(data, binaries, user, password_file, durable=durable)
        return
    if major != binaries.major:
        raise EmbeddedPostgresError(
            f"{data} was written by PostgreSQL {major}, the programs here are {binaries.version}: install those of "
            f"{major}, or move the folder away to begin with an empty one (nothing in it was changed)"
        )


def _initialise(data: Path, binaries: Binaries, user: User, password_file: Path, *, durable: bool) -> None:
    unfinished = data.with_name("pg.init")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    user.give(unfinished)
    password = secrets.token_urlsafe(24)
    write_private(password_file, password)
    descriptor, name = tempfile.mkstemp(dir=data.parent, prefix=".password-")
    passed = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(password + "\n")
        user.give(passed)
        # Over the socket trust is safe, its folder being closed to others (0700); over TCP anyone could knock.
        done = user.run(
            [str(binaries.folder / "initdb"), "-D", str(unfinished), "-U", "postgres", f"--pwfile={passed}"]
            + ["--auth-local=trust", "--auth-host=scram-sha-256", "-E", "UTF8", "--no-locale", "--no-instructions"]
            + ([] if durable else ["--no-sync"])
        )
    finally:
        passed.unlink(missing_ok=True)
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        said = (done.stderr or done.stdout).strip()[-1000:]
        raise EmbeddedPostgresError(
            f"no Postgres could be made in {data.parent}: {said}\nmake room there, or choose another state folder"
        )
    unfinished.rename(data)


def end_server(data: Path, deadline: float) -> None:
    """End the server that runs on `data`, if one does, and wait until it is gone: fast, then at once.

    Only for who holds the lock. `deadline` is on `time.monotonic`; half of what is left until then is given to the
    fast shutdown. A `postmaster.pid` whose process is another one by now is removed, for Postgres itself would
    believe it.
    """
    if (left := _read_pid_file(data)) is None:
        return
    pid, sockets = left
    asked = 0
    patience = time.monotonic() + (deadline - time.monotonic()) / 2
    while _read_pid_file(data) == left and is_alive(pid):
        if (ours := _is_server_of(pid, data)) is None:
            return
        if not ours:
            (data / "postmaster.pid").unlink(missing_ok=True)
            return
        wanted = signal.SIGINT if time.monotonic() < patience else signal.SIGQUIT
        if wanted != asked:
            asked = wanted
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, wanted)
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(f"a Postgres (process {pid}) still runs on {data} and does not stop: end it")
        time.sleep(0.005)
    if sockets.name.startswith(SOCKETS_PREFIX):
        with contextlib.suppress(OSError):  # gone already, or not empty and so not ours to judge
            sockets.rmdir()


def ready_server(data: Path, sockets: Path) -> int | None:
    """The id of the server that accepts connections in `sockets`; `None` as long as it does not."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return int(lines[0]) if lines[_SOCKETS_LINE] == str(sockets) and lines[_READY_LINE].strip() == "ready" else None
    except (OSError, ValueError, IndexError):  # not there yet, or only half written
        return None


def _read_pid_file(data: Path) -> tuple[int, Path] | None:
    """The id of the server that wrote `postmaster.pid`, and the folder of its socket; `None` without the file."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return int(lines[0]), Path(lines[_SOCKETS_LINE] if len(lines) > _SOCKETS_LINE else "")
    except (OSError, ValueError, IndexError):
        return None


def _is_server_of(pid: int, data: Path) -> bool | None:
    """Whether that process is a Postgres started on `data`; `None` where this cannot be told."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        try:
            listing = subprocess.run(
                ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False, text=True
            )
        except OSError:
            return None
        return f"-D {data} " in listing.stdout
    return str(data) in arguments

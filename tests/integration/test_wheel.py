"""The wheel: it holds the package and the example, and the shop runs from it in an environment of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.waiting import until_blocking

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    with TemporaryDirectory(prefix="wow-ray-wheel-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def wheel(place: Path) -> Path:
    """Build the wheel, with what is installed here: nothing is downloaded."""
    _pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(place), str(ROOT))
    (found,) = place.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def home(place: Path, wheel: Path) -> Path:
    """Install the wheel into an empty environment, which then sees what wow-ray depends on; give its programs' folder.

    A `.pth` file is not followed into those of the folder it names: the editable installation here stays unseen.
    """
    where = place / "env"
    venv.create(where, symlinks=True)
    programs = where / "bin"
    _pip("--python", str(programs / "python"), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = where.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


@pytest.fixture
def shop(place: Path) -> Path:
    """Give a copy of the example, as somebody would have it who knows nothing of this repository."""
    folder = place / "shop"
    if not folder.exists():
        folder.mkdir()
        for name in ("shop.py", "tables.py", "tables.sql"):
            shutil.copy(ROOT / "examples" / "shop" / name, folder)
    return folder


def _pip(*arguments: str) -> None:
    """Run pip quietly; it may take a minute."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def _environ(**more: str) -> dict[str, str]:
    """Give an environment in which nothing points to this repository."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("WOW_RAY_") and name not in hidden}
    return {**kept, "PYTHONUNBUFFERED": "1", "COLUMNS": "200", **more}


def _run(home: Path, folder: Path, program: str, *arguments: str, **environ: str) -> str:
    """Run a program of the environment to its end, expect it to be done, and give what it said."""
    done = subprocess.run(
        [home / program, *arguments],
        cwd=folder,
        env=_environ(**environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_the_example_and_nothing_else(wheel: Path) -> None:
    """Two folders at its top; every module and statement of the package, its migrations, and the mark of its types.

    The example lies in the package, for `wow-ray demo`, as it is here but for its tests.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    tops = {name.split("/")[0] for name in names}
    ours = {name for name in names if name.startswith("wow_ray/")}
    example = {ROOT / "examples" / "__init__.py", *_files(ROOT / "examples" / "shop")}
    copied = {f"wow_ray/_demo/{path.relative_to(ROOT).as_posix()}" for path in example if path.name != "test_shop.py"}
    source = {path.relative_to(ROOT).as_posix() for path in _files(ROOT / "wow_ray")}

    assert len(tops) == 2
    assert tops == {"wow_ray", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"}
    assert ours == source | copied
    assert "wow_ray/py.typed" in ours
    assert "wow_ray/adapters/postgres/sql/log.sql" in ours
    assert "wow_ray/adapters/postgres/migrations/0001_log.sql" in ours
    assert "wow_ray/_demo/examples/shop/tables.sql" in ours


def _files(folder: Path) -> set[Path]:
    """Give the files below a folder that somebody has written."""
    return {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def test_what_is_imported_is_what_was_installed(home: Path, shop: Path) -> None:
    """The package comes from the new environment, what it depends on from beside; the shop's four groups resolve."""
    program = (
        "import wow_ray, shop; from wow_ray.cluster import settings_of; print(wow_ray.__file__); "
        "print(len(shop.app.resolved(settings_of(shop.app)).groups))"
    )
    file, groups = _run(home, shop, "python", "-c", program).split()

    assert Path(file).is_relative_to(home.parent)
    assert int(groups) == 4
    assert "migrate" in _run(home, shop, "wow-ray", "--help")


def test_the_shop_runs_from_the_wheel(home: Path, shop: Path, postgres_dsn: str, schema: str) -> None:
    """Migrated, up to date the second time, run by `wow-ray dev` until Ctrl-C, and its end told as exit code 0."""
    where = {"WOW_RAY_POSTGRES_DSN": postgres_dsn, "WOW_RAY_POSTGRES_SCHEMA": schema}
    assert "applied 0001_log" in _run(home, shop, "wow-ray", "migrate", "shop:app", **where)
    assert "up to date" in _run(home, shop, "wow-ray", "migrate", "shop:app", **where)

    output = shop / "said"
    with output.open("wb") as said:
        dev = subprocess.Popen(
            [home / "wow-ray", "dev", "shop:app", "--no-reload", "--partitions", "2"],
            cwd=shop,
            env=_environ(**where),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:

        def runs() -> bool:
            text = output.read_text(encoding="utf-8")
            assert dev.poll() is None, text
            return "running 2 partitions" in text

        until_blocking(runs, "the shop to run", seconds=30)
        dev.send_signal(signal.SIGINT)
        assert dev.wait(30) == 0
        assert "Traceback" not in output.read_text(encoding="utf-8")
    finally:
        dev.kill()
        dev.wait()


IN_BACKGROUND = 'trap "" INT; exec "$0" env -u RAY_AUTH_MODE "$1" demo'
"""As a script starts a program in the background, where Ctrl-C is ignored; with Ray's token, as for a user."""


def test_the_demo_runs_from_the_wheel_until_it_is_told_to_end(home: Path, place: Path) -> None:
    """`wow-ray demo` in an empty folder: its processes import the example from the wheel and handle orders.

    SIGTERM ends it as Ctrl-C does, with 130, and its folder is gone.
    """
    folder = place / "empty"
    folder.mkdir()
    output = place / "demo.said"
    with output.open("wb") as said:
        demo = subprocess.Popen(
            ["/bin/sh", "-c", IN_BACKGROUND, ROOT / "tests" / "netns.sh", home / "wow-ray"],
            cwd=folder,
            env=_environ(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:

        def handles() -> bool:
            text = output.read_text(encoding="utf-8")
            assert demo.poll() is None, text
            return re.search(r"[1-9]\d* of \d+ handled", text) is not None

        until_blocking(handles, "the demo to handle orders", seconds=2 * SECONDS)
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(SECONDS) == 130, output.read_text(encoding="utf-8")
        text = output.read_text(encoding="utf-8")
        assert "Traceback" not in text
        (state,) = re.findall(r"a private Postgres in (\S+)/postgres", text)
        assert not Path(state).exists()
    finally:
        demo.kill()
        demo.wait()

"""How commands end and what they write: exit codes, one document, harmless texts, saves that are noticed."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.waiting import until
from wow_ray import errors
from wow_ray.adapters.embedded import default_state_dir
from wow_ray.cli import main
from wow_ray.cli.exits import Exit, error_document, exit_of
from wow_ray.cli.options import Where
from wow_ray.cli.shown import harmless, length, times
from wow_ray.cli.watching import POLL, Watch, check
from wow_ray.cluster import database_of, time_ordered_ids
from wow_ray.settings import load
from wow_ray.testing.clock import VirtualClock, at_rest


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotFoundError("x"), Exit.NOT_FOUND),
        (errors.ConflictError("x"), Exit.CONFLICT),
        (errors.OperationError("x"), Exit.USAGE),
        (errors.DefinitionError("x"), Exit.USAGE),
        (errors.SettingsError("x"), Exit.USAGE),
        (errors.StoreUnavailableError("x"), Exit.UNREACHABLE),
        (errors.NotConnectedError("x"), Exit.UNREACHABLE),
        (errors.SchemaError("x"), Exit.FAILED),
        (errors.EmbeddedServerError("x"), Exit.FAILED),
        (RuntimeError("x"), Exit.FAILED),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
    ],
)
def test_every_error_has_an_exit_code(error: BaseException, code: Exit) -> None:
    """0 done, 1 failed, 2 usage, 3 conflict, 4 not found, 5 unreachable."""
    assert exit_of(error) is code
    assert error_document(error)["error"]["exit"] == code


def test_an_error_is_one_line_or_one_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No traceback unless `--debug` asks for it; the text has the code and both ways out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["status", "--context", "shop"]) == Exit.UNREACHABLE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("error: WOW-CONNECT no store of 'shop' was found: run `wow-ray dev`")
    assert "WOW_RAY_POSTGRES_DSN" in told.err

    assert main(["status", "--context", "shop", "--json"]) == Exit.UNREACHABLE
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "WOW-CONNECT"
    assert main(["status", "--context", "shop", "--debug"]) == Exit.UNREACHABLE
    assert "Traceback" in capsys.readouterr().err


def test_usage_errors_are_documents_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, from the parser as from the command."""
    for arguments in (["parked", "resume", "--json"], ["status", "--json"], ["nonsense", "--json"]):
        assert main(arguments) == Exit.USAGE
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "WOW-USAGE"
    assert main(["--help"]) == Exit.DONE


def test_what_is_unexpected_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is not ours is told in one line as well."""

    def broken(_: Where) -> None:
        raise RuntimeError("a \x1b[31mfault")

    monkeypatch.setattr(Where, "found", broken)
    assert main(["status"]) == Exit.FAILED
    assert capsys.readouterr().err == "error: RuntimeError a \\x1b[31mfault (unexpected; --debug shows where)\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode ✓", "plain ünïcode ✓"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("one\r\ntwo", "one\\r\\ntwo"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("half \ud83d", "half \\ud83d"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
    ],
)
def test_a_terminal_obeys_no_foreign_text(text: str, shown: str) -> None:
    """Escapes, carriage returns, marks of direction and lone surrogates are written out."""
    assert harmless(text) == shown
    assert harmless("a\nb\tc\r", lines=True) == "a\nb\tc\\r"


def test_numbers_are_written_for_people() -> None:
    """One event, two events; lengths to the second from a second up."""
    assert (times(1, "event"), times(1_200, "event")) == ("1 event", "1,200 events")
    assert (length(0.25), length(61.4)) == ("250ms", "1m 1s")


# --- where a command finds its store


def test_a_store_is_found_by_dsn_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The one given, else the settings', else the private server's; else both ways are named."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = load({"postgres_dsn": "postgresql://settings", "postgres_schema": "s"}, None, {})

    assert database_of(settings, "shop", dsn="postgresql://given").dsn == "postgresql://given"
    found = database_of(settings, "shop")
    assert (found.dsn, found.context, found.schema) == ("postgresql://settings", "shop", "s")
    with pytest.raises(errors.NotConnectedError, match="WOW_RAY_POSTGRES_DSN_FILE") as refused:
        database_of(load(None, None, {}), "shop")
    assert str(default_state_dir("shop")) in refused.value.message


def test_two_stores_or_two_apps_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder beside a DSN would be guessed at, as would an app beside a context."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WOW_RAY_POSTGRES_DSN", "postgresql://somewhere")
    with pytest.raises(errors.SettingsError, match="two stores"):
        Where(context="shop", data_dir=tmp_path).found()
    with pytest.raises(errors.SettingsError, match="keep one"):
        Where(app="shop:app", context="shop").found()
    assert Where(context="shop").found().database.dsn == "postgresql://somewhere"


def test_ids_sort_by_the_time_they_were_made() -> None:
    """To the millisecond, as UUIDs of version 7; no two are alike."""
    clock = VirtualClock()
    new_id = time_ordered_ids(clock)
    made = []
    for _ in range(50):
        made.append(new_id())
        clock.step(0.001)

    assert made == sorted(set(made))
    assert {(one[14], one[19] in "89ab") for one in made} == {("7", True)}


# --- saves


async def test_a_save_counts_once_it_is_whole(tmp_path: Path) -> None:
    """Python files and `wow-ray.toml` below the folder; caches, environments and other files do not count."""
    clock = VirtualClock()
    (tmp_path / "shop.py").write_text("1")
    for name in (".venv", "__pycache__"):
        (tmp_path / name).mkdir()
    watch = Watch([tmp_path], None, clock)
    changed = asyncio.ensure_future(watch.changed())

    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".venv" / "x.py").write_text("x")
    await _pass(changed, clock, 3)
    assert not changed.done()

    (tmp_path / "shop.py").write_text("12")
    await _pass(changed, clock, 1)
    (tmp_path / "shop.py").write_text("123")
    await _pass(changed, clock, 1)
    assert not changed.done()
    await _pass(changed, clock, 1)
    assert await changed == (tmp_path / "shop.py",)
    assert not await watch.stale()

    (tmp_path / "wow-ray.toml").write_text("")
    assert await watch.stale()


async def test_a_save_is_tried_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What cannot be loaded, and what takes its process down, is told; the app's own output is not."""
    for name, text in {
        "good": "from wow_ray import App\nprint('{}')\napp = App('shop')\n",
        "broken": "print('noise')\n1 / 0\n",
        "deadly": "import os\nos._exit(7)\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)

    good, broken, deadly = await asyncio.gather(
        *(check(f"{name}:app", None, os.environ, tmp_path) for name in ("good", "broken", "deadly"))
    )

    assert good == ""
    assert broken == "WOW-APP broken:app cannot be loaded: broken.py:2: ZeroDivisionError: division by zero"
    assert deadly == "importing it ended its process with 7"


async def _pass(changed: asyncio.Future[tuple[Path, ...]], clock: VirtualClock, polls: int) -> None:
    """Let the watcher look so many times; it looks from a thread, and waits for time again afterwards or is done."""
    for _ in range(polls):
        await at_rest()
        await clock.advance(POLL)
        await until(lambda: clock.next_timer() is not None or changed.done(), "the watcher to have looked")
        await at_rest()

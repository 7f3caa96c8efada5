"""Lists as CSV: filtered as the list is, page by page, and no cell is a formula anywhere."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.ops_window import Window, a_window, is_problem
from tests.unit.test_console import HOSTILE
from wow_ray.errors import StoreUnavailableError
from wow_ray.ops import sheets
from wow_ray.ops.http.exporting import sheet
from wow_ray.policy.durable_call import NewCall
from wow_ray.ports.ledger import RowFilter

FORMULAS = [
    ("=1+1", "'=1+1"),
    ("+1", "'+1"),
    ("-1", "'-1"),
    ("@SUM(A1)", "'@SUM(A1)"),
    ("\t=1", "'\t'=1"),
    ("\r=1", "⟨U+000D⟩=1"),
    ("\n=1", "\n'=1"),
    ("  =1", "  '=1"),
    ('"=1', "\"'=1"),
    ("a;=1", "a;'=1"),
    ('x","=cmd|x', 'x","\'=cmd|x'),
    ("\uff1d1", "'\uff1d1"),
    ("\x00=1", "⟨U+0000⟩=1"),
    ("o-42", "o-42"),
    ("a = b", "a = b"),
    ("2026-01-01", "2026-01-01"),
    (-1, "-1"),
    (None, ""),
    (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
    ("a\u202eb\ud800", "a⟨U+202E⟩b⟨U+D800⟩"),
]


@pytest.mark.parametrize(("value", "written"), FORMULAS)
def test_no_cell_begins_like_a_formula(value: object, written: str) -> None:
    """Nor does what some program takes for a cell: behind a quote, another separator, the end of a line."""
    assert sheets.cell(value) == written


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, and its window."""
    async with a_window() as opened:
        yield opened


async def read(window: Window, path: str, **headers: str) -> list[dict[str, str]]:
    """Give the rows of an answer that is CSV."""
    answer = await window.client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    assert answer.headers["cache-control"] == "no-store"
    return list(csv.DictReader(io.StringIO(answer.text, newline=""), strict=True))


async def test_the_parked_list_is_given_as_csv(window: Window) -> None:
    """By `format` or by `Accept`, under the filters of the list, with the limit only where one is given."""
    rows = await window.park("o-1", "o-2", "o-3")
    found = await read(window, "/api/v1/parked?format=csv")
    ids = sorted(row["id"] for row in rows)
    assert [each["id"] for each in found] == ids
    assert {(each["aggregate_id"], each["stopped_version"], each["error_type"]) for each in found} == {
        (f"o-{number}", "1", "ValueError") for number in (1, 2, 3)
    }
    assert [each["id"] for each in await read(window, "/api/v1/parked", Accept="text/csv")] == ids
    assert len(await read(window, "/api/v1/parked?format=csv&limit=2&sort=newest")) == 2
    assert [row["aggregate_id"] for row in await read(window, "/api/v1/parked?format=csv&aggregate_id=o-2")] == ["o-2"]
    assert await read(window, "/api/v1/parked?format=csv&state=resolved") == []
    for accept in ("application/json", "*/*", "text/csv;q=0", "application/json, text/csv"):
        answer = await window.client.get("/api/v1/parked", headers={"Accept": accept})
        assert answer.headers["content-type"] == "application/json"
    is_problem(await window.client.get("/api/v1/parked?format=csv&aggregateid=o-2"), 422, "WOW-REQUEST")
    is_problem(await window.client.get("/api/v1/parked?format=csv&text=%00"), 422, "WOW-OPERATION")


async def test_durable_calls_are_given_as_csv(window: Window) -> None:
    """Without arguments and results, whoever asks."""
    calls = window.running.service.client.calls
    for number in range(3):
        await calls.submit(NewCall(f"c-{number}", "refund", '{"v":1,"a":{"name":"Ann"}}', key=f"=k{number}", delay=9e3))
    found = await read(window, "/api/v1/calls?format=csv")
    assert [(each["id"], each["key"], each["state"]) for each in found] == [
        (f"c-{number}", f"'=k{number}", "waiting") for number in range(3)
    ]
    assert not [name for name in found[0] if name in {"payload", "result", "headers"}]
    assert "Ann" not in str(found)
    assert [each["id"] for each in await read(window, "/api/v1/calls?key=%3Dk1", Accept="text/csv")] == ["c-1"]
    assert [each["id"] for each in await read(window, "/calls.csv?key=%3Dk2&function=")] == ["c-2"]


async def test_the_console_leads_to_all_that_its_filter_finds(window: Window) -> None:
    """The page's address is the filter of the file."""
    await window.park("o-1", "o-2")
    page = (await window.client.get("/parked?aggregate_id=o-2&version=1")).text
    link = page.partition('href="/parked.csv')[2].partition('"')[0].replace("&amp;", "&")
    assert [each["aggregate_id"] for each in await read(window, f"/parked.csv{link}")] == ["o-2"]
    assert len(await read(window, "/parked.csv")) == 2
    assert (await window.client.get("/parked.csv?aggregateid=o-2")).status_code == 422


async def test_texts_of_strangers_do_nothing(window: Window) -> None:
    """S108: markup stays as it is, formulas and controls do not, quotes and lines are kept within their cell."""
    (row,) = await window.park("o-1")
    rows = window.running.memory._server.rows  # noqa: SLF001 - no program writes such texts
    stored = rows.by_id[row["id"]]
    assert stored.failure is not None
    text = f'=HYPERLINK("http://evil.example";"x")\r\n","@x\x00{HOSTILE}'
    rows.by_id[row["id"]] = replace(stored, failure=replace(stored.failure, type=text, message=text))
    (found,) = await read(window, "/api/v1/parked?format=csv")
    assert found["error_message"].startswith('\'=HYPERLINK("http://evil.example";"x")\n","\'@x⟨U+0000⟩<script>')
    assert not set("\x00\x1b\u202e\r") & set("".join(found.values()))


async def test_it_is_read_page_by_page_and_goes_on_where_it_was(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By key, so a long list takes no more memory than a short one; `most` ends it."""
    monkeypatch.setattr(sheets, "PAGE", 2)
    await window.park(*(f"o-{number}" for number in range(7)))
    ledger = window.running.memory.client_stores().ledger
    asked: list[RowFilter] = []
    original = type(ledger).rows

    async def rows(self: Any, wanted: RowFilter) -> Any:  # noqa: ANN401 - as the ledger has it
        asked.append(wanted)
        return await original(self, wanted)

    monkeypatch.setattr(type(ledger), "rows", rows)
    text = (await window.client.get("/api/v1/parked?format=csv")).text
    assert text.count("order") == 7
    assert [wanted.limit for wanted in asked] == [3, 3, 3, 3]
    assert len({wanted.after for wanted in asked}) == 4
    asked.clear()
    assert (await window.client.get("/api/v1/parked?format=csv&limit=3")).text.count("order") == 3
    assert [wanted.limit for wanted in asked] == [3, 2]


async def test_a_store_that_goes_away_leaves_no_file_that_looks_whole(window: Window) -> None:
    """Before the first page that is a problem; later the answer breaks off, and its client is told so."""

    async def lines() -> AsyncIterator[str]:
        yield "more\r\n"
        raise StoreUnavailableError("it is away")

    answer = await sheet(lines(), "parked")
    body = aiter(answer.body_iterator)
    assert await anext(body) == "more\r\n"
    with pytest.raises(StoreUnavailableError):
        await anext(body)
    await window.stop()
    assert await read(window, "/api/v1/parked?format=csv") == []

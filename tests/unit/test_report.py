"""What a partition says of itself, as it is written: small, plain, and read by whoever knows less or more of it."""

from __future__ import annotations

import json
from dataclasses import replace
from time import perf_counter

import pytest

from wow_ray.policy.report import MOST, GroupReport, PartitionReport, PauseReport, moment, read, written

PAUSE = PauseReport("systemic", "2030-01-01T00:00:00Z", "Sales.on_paid", "Down: no", 2.5, "Down: still", 20, 10)
BUSY = GroupReport(1_234_567, 12_345, 1_234, 1_234.567, 12.345, 16, 16, 32, "busy", 100, 3, 5_000, 8_000)


def test_what_is_nothing_is_not_written() -> None:
    """A group at rest costs its name and its limit."""
    text = written(PartitionReport(every=2.0, groups={"Sales": GroupReport(limit=8, share=8)}))

    assert text == '{"every":2.0,"groups":{"Sales":{"limit":8,"share":8}}}'
    assert read(text) == PartitionReport(every=2.0, groups={"Sales": GroupReport(limit=8, share=8)})


def test_every_group_of_two_hundred_is_written_while_all_of_them_are_paused() -> None:
    """H48: 64 KB hold who is paused, since when and until when; texts are cut as far as that takes."""
    pause = replace(PAUSE, error="e" * 250, probe_error="p" * 250)
    group = replace(BUSY, running=1, window=0, pause=pause)
    found = read(written(PartitionReport(groups={f"Notifier{n:03}.on_order_placed": group for n in range(200)})))

    assert found is not None
    assert (len(found.groups), found.left_out) == (200, 0)
    told = found.groups["Notifier007.on_order_placed"]
    assert told.pause == replace(PAUSE, error="", probe_error="")
    assert (told.handled, told.parked, told.limit, told.share, told.limited) == (1_234_567, 1_234, 16, 32, "busy")


@pytest.mark.parametrize(("groups", "length"), [(1, 200), (50, 200), (120, 80)])
def test_texts_are_cut_no_shorter_than_there_is_room(groups: int, length: int) -> None:
    """Somebody is to read them: 200 characters of each where that fits, and a mark where they were cut."""
    pause = replace(PAUSE, error="e" * 1_000, probe_error="p" * 1_000)
    found = read(written(PartitionReport(groups={f"G{n:03}": GroupReport(pause=pause) for n in range(groups)})))

    assert found is not None
    assert found.groups["G000"].pause == replace(
        pause, error="e" * (length - 1) + "…", probe_error="p" * (length - 1) + "…"
    )


def test_groups_that_have_least_to_say_are_left_out_when_there_are_thousands() -> None:
    """H48: the bound holds for every program; those in trouble are told, and how many are not."""
    groups = {f"Quiet{n:04}": BUSY for n in range(1_000)} | {f"Paused{n}": replace(BUSY, pause=PAUSE) for n in range(9)}
    text = written(PartitionReport(slots=8, groups=groups))
    found = read(text)

    assert len(text) <= MOST
    assert found is not None
    assert {f"Paused{n}" for n in range(9)} <= found.groups.keys()
    assert len(found.groups) + found.left_out == 1_009
    assert found.left_out < 1_009 * 0.8


def test_a_report_of_another_release_is_read_as_far_as_it_goes() -> None:
    """Expand, then contract: unknown fields are passed over, missing ones are nothing, nonsense is no report."""
    assert read('{"every":2,"mood":"good","groups":{"Sales":{"handled":3,"mood":{}}}}') == PartitionReport(
        every=2.0, groups={"Sales": GroupReport(handled=3)}
    )
    for odd in ("[]", "{", '{"groups":3}', '{"groups":{"Sales":3}}', '{"slots":"many"}', '{"late":[1]}'):
        assert read(odd) is None, odd


def test_a_time_that_is_none_is_none() -> None:
    """What another release writes there cannot break a page."""
    assert moment("") is None
    assert moment("yesterday") is None
    assert str(moment(PAUSE.since)) == "2030-01-01 00:00:00+00:00"


def test_writing_the_largest_report_keeps_the_loop_for_milliseconds() -> None:
    """H60: it is written in the loop in which handlers run; the bound here is 30 times what was measured."""
    groups = {f"Notifier{n:03}.on_order_placed": replace(BUSY, pause=PAUSE) for n in range(200)}
    report = PartitionReport(groups=groups)
    began = perf_counter()
    text = written(report)
    took = perf_counter() - began

    assert took < 0.3
    assert json.loads(text)["groups"].keys() == groups.keys()

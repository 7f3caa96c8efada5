"""What partitions do together while a group is in trouble in several of them (W7)."""

from __future__ import annotations

from wow_ray.policy.concert import FRESH, PERMIT_LIFE, Concert, Standing

WELL = Standing(paused=False, limit=32, full=32, cause="")
PAUSED = Standing(paused=True, limit=32, full=32, cause="")


def test_one_probe_at_a_time_goes_out_for_a_group() -> None:
    """W7: whoever asks first has it, also when it asks again; another group is another matter."""
    concert = Concert()
    assert concert.may_probe("g", "p-0", 0)
    assert concert.may_probe("g", "p-0", 1)
    assert not concert.may_probe("g", "p-1", 2)
    assert concert.may_probe("h", "p-1", 2)
    concert.probed("g", "p-0", 3, succeeded=False)
    assert concert.may_probe("g", "p-1", 3)


def test_a_permit_whose_holder_died_or_hangs_is_anybodys_after_ten_seconds() -> None:
    """W7, H18, S84: nobody waits for a probe that never comes back."""
    concert = Concert()
    assert concert.may_probe("g", "p-0", 0)
    assert not concert.may_probe("g", "p-1", PERMIT_LIFE - 0.1)
    assert concert.may_probe("g", "p-1", PERMIT_LIFE)
    assert concert.prober("g", PERMIT_LIFE) == "p-1"
    concert.gone("p-1")
    assert concert.may_probe("g", "p-0", PERMIT_LIFE)


def test_the_first_success_lets_all_others_probe_at_once() -> None:
    """W7, H17: those that are paused for that group, and no partition that was not heard of lately."""
    concert = Concert()
    concert.seen("old", {"g": PAUSED}, 0)
    for name, standing in (("p-0", PAUSED), ("p-1", PAUSED), ("p-2", WELL), ("p-3", PAUSED)):
        concert.seen(name, {"g": standing}, FRESH + 1)
    assert concert.probed("g", "p-0", FRESH + 1, succeeded=True) == ("p-1", "p-3")
    assert concert.probed("g", "p-0", FRESH + 1, succeeded=False) == ()
    assert concert.probed("unheard of", "p-0", FRESH + 1, succeeded=True) == ()


def test_where_one_partition_meets_busy_answers_all_are_bounded() -> None:
    """D4, W7: twice what the busy one runs, so that it can climb and moved load does not begin at full force."""
    concert = Concert()
    concert.seen("p-0", {"g": Standing(paused=False, limit=4, full=32, cause="busy"), "h": WELL}, 0)
    assert concert.ceilings(0) == {}
    concert.seen("p-1", {"g": WELL, "h": WELL}, 0)
    assert concert.ceilings(0) == {"g": 8}
    concert.seen("p-0", {"g": WELL, "h": WELL}, 1)
    assert concert.ceilings(1) == {}


def test_a_bound_that_it_made_itself_is_no_reason_to_bound() -> None:
    """W7: only busy answers are; otherwise a ceiling would keep itself alive."""
    concert = Concert()
    for name in ("p-0", "p-1"):
        concert.seen(name, {"g": Standing(paused=False, limit=8, full=32, cause="ceiling")}, 0)
    assert concert.ceilings(0) == {}


def test_it_shows_each_group_over_all_partitions() -> None:
    """W7: where it is paused, who probes, how many calls may run of how many, and why."""
    concert = Concert()
    concert.seen("p-0", {"g": PAUSED}, 0)
    concert.seen("p-1", {"g": Standing(paused=False, limit=4, full=32, cause="busy")}, 0)
    concert.may_probe("g", "p-0", 0)
    assert concert.view(1) == {
        "g": {"paused": ["p-0"], "probing": "p-0", "limit": 36, "full": 64, "causes": ["busy"]},
    }

"""`isolation="actor"` on Ray: processes of its own, and whoever ends one is the only one who is charged."""

from __future__ import annotations

from tests.cluster.lab import Lab
from tests.waiting import until

SCORER = "Scorer.on_paid"


async def test_an_exit_in_a_handler_leaves_the_partition_alone_and_charges_one_aggregate(scoring_lab: Lab) -> None:
    """P15: `os._exit` in a call, three times: that order is parked as `crashed_worker` after 3 calls.

    The partition's process is the same before and after, and of 20 other orders every event is handled at its first
    attempt, with the state as of the event.
    """
    lab = scoring_lab
    await lab.up(1)
    before = await lab.pid(f"{lab.site.context}-0")
    others = [f"o-{number}" for number in range(20)]
    await lab.paid(*others, "exit-1", times=2)

    await lab.all_done(SCORER, but=["exit-1"])
    await until(lab.rows, "the order to be parked", seconds=30)

    (row,) = await lab.rows()
    assert (row["aggregate_id"], row["reason"], row["state"]) == ("exit-1", "crashed_worker", "exhausted")
    assert "crashed worker process" in row["message"]
    calls = await lab.calls(SCORER)
    assert [call["attempt"] for call in calls if call["id"] == "exit-1"] == [1, 2, 3]
    assert {call["attempt"] for call in calls if call["id"] != "exit-1"} == {1}
    assert all(call["said"] == str(call["version"]) for call in calls)
    assert await lab.pid(f"{lab.site.context}-0") == before
    assert before not in {call["pid"] for call in calls}
    await lab.all_done(but=[])
    figures = await lab.figures(SCORER, but=["exit-1"])
    assert (figures.lost, figures.out_of_order) == (0, 0)


async def test_an_error_that_does_not_unpickle_keeps_its_name_and_its_wish(scoring_lab: Lab) -> None:
    """S76: keyword-only, with a lock; 429 with `Retry-After: 1` is backpressure, and the next call comes 1 s later."""
    lab = scoring_lab
    await lab.up(1)
    await lab.paid("odd-1")

    await lab.all_done(SCORER)

    first, second = await lab.calls(SCORER)
    assert 1 <= (second["at"] - first["at"]).total_seconds() < 6
    assert (first["key"], second["key"]) == (f"{SCORER}:odd-1@1:0",) * 2
    assert await lab.rows() == []

"""A batch outlives the process that runs it: found as interrupted, resumed where it stood, no row twice (S87)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from tests.unit.operating import operations_of
from tests.unit.ops_window import Window, a_window, is_problem
from wow_ray.errors import ConflictError, NotFoundError, OperationError, StoreUnavailableError
from wow_ray.ops import Command, Operations, ParkedQuery
from wow_ray.ops.bulk_run import LEASE
from wow_ray.ops.parked_bulk import ParkedBatches
from wow_ray.policy.batches import CANARY, Stage, fail_alike
from wow_ray.ports.ledger import ActionFilter
from wow_ray.testing.clock import at_rest

ROWS = 12
WHY, LATER = Command("ann", "the carrier is back"), Command("bob", "go on")


class Process:
    """One process that serves operators, which may be cut off from the store."""

    def __init__(self, window: Window, name: str) -> None:
        self.away = False
        self._operations = operations_of(window.running, requests=name)
        self.batches = ParkedBatches(self.opened)

    async def opened(self) -> Operations:
        """Give what it works with."""
        if self.away:
            raise StoreUnavailableError("it is away")
        return self._operations


@pytest.fixture
async def window() -> AsyncIterator[Window]:
    """The app, running, with some parked aggregates whose carrier is back."""
    async with a_window() as opened:
        await opened.park(*(f"o-{number}" for number in range(ROWS)))
        opened.carrier.broken.clear()
        yield opened


async def passed(window: Window, seconds: int) -> None:
    """Let time pass, a second after the other, so that everybody has their turns."""
    for _ in range(seconds):
        await window.running.advance("1s")


async def half_done(window: Window, process: Process) -> str:
    """Have a process begin a batch at a row a second, and come some way; gives its id."""
    batch = await process.batches.preview(ParkedQuery(), "resume")
    assert batch.size == len(batch.rows) == ROWS
    await process.batches.start(batch.id, WHY, 1.0)
    await passed(window, 6)
    return batch.id


async def done(window: Window, process: Process, batch_id: str) -> None:
    """Let it go on to its end, and see that every row was commanded once, and every event handled once."""
    for _ in range(60):
        await window.running.advance("1s")
        if (await process.batches.batch(batch_id)).ended:
            break
    found = await process.batches.batch(batch_id)
    assert (found.stage, found.asked, found.recovered, found.changed) == (Stage.DONE, ROWS, ROWS, 0)
    assert set(Counter(window.carrier.told).values()) == {1}
    assert len(window.carrier.told) == ROWS
    actions = (await (await process.opened()).actions(ActionFilter(limit=1_000))).actions
    assert Counter(action.row_id for action in actions).most_common(1)[0][1] == 1
    assert {action.reason for action in actions} <= {WHY.reason, LATER.reason}


async def test_one_whose_process_died_is_found_and_resumed_where_it_stood(window: Window) -> None:
    """S87: nothing is asked for meanwhile; the rest is asked for by whoever resumes it, in their name."""
    first, second = Process(window, "a"), Process(window, "b")
    batch_id = await half_done(window, first)
    first.away = True
    await passed(window, int(LEASE) + 1)

    found = await second.batches.batch(batch_id)
    assert (found.stage, found.actor, found.rate) == (Stage.INTERRUPTED, "ann", 1.0)
    assert 3 <= found.asked < ROWS
    assert found.resumable
    (head,) = (await second.batches.listed()).batches
    assert (head.id, head.stage, head.asked) == (batch_id, Stage.INTERRUPTED, found.asked)
    assert len(window.carrier.told) <= found.asked + 1

    begun = await second.batches.resume(batch_id, LATER)
    assert begun.actor == "bob"
    await done(window, second, batch_id)
    actions = (await (await second.opened()).actions(ActionFilter(limit=1_000))).actions
    assert Counter(action.actor for action in actions)["bob"] >= ROWS - found.asked - 1


async def test_one_whose_process_ends_in_order_can_be_resumed_at_once(window: Window) -> None:
    """Nobody waits for a lease of a process that has said goodbye."""
    first, second = Process(window, "a"), Process(window, "b")
    batch_id = await half_done(window, first)
    await first.batches.close()
    assert (await second.batches.batch(batch_id)).stage is Stage.INTERRUPTED
    await second.batches.resume(batch_id, LATER)
    await done(window, second, batch_id)


async def test_a_process_that_was_taken_for_dead_commands_no_row_again(window: Window) -> None:
    """Both run for a while: each row has one request id, counts are kept once, and the old one ends."""
    first, second = Process(window, "a"), Process(window, "b")
    batch_id = await half_done(window, first)
    store = (await first.opened()).batches
    run = first.batches._runs[batch_id]  # noqa: SLF001 - its name stands nowhere else
    assert await store.beat(batch_id, run._runner, Stage.RUNNING, 0.0)  # noqa: SLF001 - as above
    await second.batches.resume(batch_id, LATER, 2.0)
    await done(window, second, batch_id)
    assert (await first.batches.batch(batch_id)).stage is Stage.DONE


async def test_it_is_stopped_from_another_process_and_resumed(window: Window) -> None:
    """The one that runs it hears of it within a second; what was asked for goes on."""
    first, second = Process(window, "a"), Process(window, "b")
    batch_id = await half_done(window, first)
    stopped = await second.batches.stop(batch_id, "carla")
    assert (stopped.stage, stopped.why) == (Stage.STOPPED, "carla stopped it")
    await passed(window, 5)
    asked = (await second.batches.batch(batch_id)).asked
    await passed(window, 5)
    found = await first.batches.batch(batch_id)
    assert (found.stage, found.why, found.asked) == (Stage.STOPPED, "carla stopped it", asked)
    await first.batches.resume(batch_id, LATER)
    await done(window, first, batch_id)


async def test_one_that_stops_by_itself_is_seen_as_stopped_while_rows_are_under_way(window: Window) -> None:
    """Nobody takes it for interrupted, and resumes it, because its last rows take their time."""
    first, second = Process(window, "a"), Process(window, "b")
    batch = await first.batches.preview(ParkedQuery(), "resume")
    await window.stop()  # nobody applies what is asked for
    await first.batches.start(batch.id, WHY)
    await at_rest()
    assert (await first.batches.batch(batch.id)).asked == CANARY
    first.batches._runs[batch.id].stopped("three in a row stopped again")  # noqa: SLF001 - as it does itself
    await window.running.clock.advance(2.0)
    found = await second.batches.batch(batch.id)
    assert (found.stage, found.why, found.asked) == (Stage.STOPPED, "three in a row stopped again", 0)
    await first.batches.close()
    assert (await second.batches.batch(batch.id)).stage is Stage.STOPPED


async def test_no_more_rows_a_second_than_asked(window: Window) -> None:
    """The first three keep the rate, too."""
    process = Process(window, "a")
    batch = await process.batches.preview(ParkedQuery(), "resume")
    await process.batches.start(batch.id, WHY, 0.5)
    await window.running.advance("1s")
    assert (await process.batches.batch(batch.id)).asked == 1
    await passed(window, 2)
    assert (await process.batches.batch(batch.id)).asked == 2
    for rate in (0.0, -1.0, 1e9, float("nan")):
        with pytest.raises(OperationError, match="rate"):
            await process.batches.start(batch.id, WHY, rate)
    await process.batches.close()


async def test_it_stops_again_while_the_cause_is_not_gone(window: Window) -> None:
    """Resumed, it begins with three once more."""
    window.carrier.broken |= {f"o-{number}" for number in range(ROWS)}
    process = Process(window, "a")
    batch = await process.batches.preview(ParkedQuery(), "resume")
    asked = []
    for begin in (process.batches.start, process.batches.resume):
        await begin(batch.id, WHY)
        await passed(window, 20)
        found = await process.batches.batch(batch.id)
        assert found.stage is Stage.STOPPED
        assert "ValueError" in found.why
        asked.append(found.asked)
    assert asked == [3, 6]


async def test_only_what_can_go_on_is_resumed(window: Window) -> None:
    """Neither a preview nor what is done; what runs is answered as it is; what there is not is not found."""
    process = Process(window, "a")
    batch = await process.batches.preview(ParkedQuery(), "resume")
    with pytest.raises(ConflictError, match="preview"):
        await process.batches.resume(batch.id, WHY)
    with pytest.raises(NotFoundError):
        await process.batches.resume("b-\x00", WHY)
    await process.batches.start(batch.id, WHY)
    assert (await process.batches.resume(batch.id, LATER)).actor == "ann"
    await done(window, process, batch.id)
    with pytest.raises(ConflictError, match="done"):
        await process.batches.resume(batch.id, WHY)
    assert (await process.batches.start(batch.id, WHY)).stage is Stage.DONE


async def test_over_http_and_in_the_console(window: Window) -> None:
    """A list without rows, one to resume, problems that say the next step."""
    bulk = "/api/v1/parked/bulk"
    previewed = (await window.client.post(f"{bulk}/preview", json={"filter": {}})).json()
    process = Process(window, "a")
    await process.batches.start(previewed["id"], WHY, 1.0)
    await passed(window, 4)
    await process.batches.close()
    (head,) = (await window.seen(bulk))["batches"]
    assert (head["id"], head["stage"], head["size"]) == (previewed["id"], "interrupted", ROWS)
    assert "rows" not in head
    assert "interrupted" in (await window.client.get("/bulk")).text
    text = (await window.client.get(f"/bulk/{head['id']}")).text
    assert f"Go on with the other {ROWS - head['asked']}" in text
    is_problem(await window.client.post(f"{bulk}/none/resume", json={"reason": "x"}), 404, "WOW-NOT-FOUND")
    is_problem(await window.client.post(f"{bulk}/{head['id']}/resume", json={"reason": " "}), 422, "WOW-OPERATION")
    is_problem(
        await window.client.post(f"{bulk}/{head['id']}/resume", json={"reason": "x", "rate": 0}), 422, "WOW-REQUEST"
    )
    word = text.partition('name="csrf" value="')[2][:64]
    form = {"csrf": word, "reason": "go on"}
    wrong = await window.client.post(f"/bulk/{head['id']}/resume", data={**form, "rate": "many"})
    assert wrong.status_code == 422
    again = await window.client.post(f"/bulk/{head['id']}/resume", data={**form, "rate": ""}, follow_redirects=True)
    assert again.status_code == 200
    await done(window, process, head["id"])
    is_problem(await window.client.post(f"{bulk}/{head['id']}/resume", json={"reason": "x"}), 409, "WOW-CONFLICT")


@pytest.mark.parametrize(
    ("marks", "rows", "alike"),
    [
        ([], 12, 0),
        (["a", "a"], 12, 0),
        (["a", "a", "a"], 12, 3),
        (["a", "a", "b"], 12, 0),
        (["a", "", "a"], 12, 0),
        (["", "", ""], 12, 0),
        (["a"], 1, 1),
        (["a", "a"], 2, 2),
        (["a"], 2, 0),
    ],
)
def test_what_fails_alike(marks: list[str], rows: int, alike: int) -> None:
    """P12: the last three, or all there are; a success in between is a success."""
    assert fail_alike(marks, rows) == alike

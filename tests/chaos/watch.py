"""Who looks on from outside and holds the runtime to P11, L1, L2 and H10: nothing lost, out of order or twice.

`Watch` knows what was appended, what was called, what each process was told that the store has, and what the store
holds. Everything it finds wrong is a sentence in `faults`; the run goes on, so that one run can show more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.unit.parking.desk import COURIER, MAILER, SUMS, Call
from tests.unit.parking.process import Life, present
from tests.unit.parking.world import World
from wow_ray.policy.parked import Row, State, Verb
from wow_ray.ports.slots import IntentDone, SlotWrite

WANTED = {MAILER: frozenset({"moved"}), COURIER: frozenset({"moved"}), SUMS: frozenset({"moved", "noted"})}
"""The groups and the types they read."""

KNOWN = 10.0
"""Seconds after which every partition knows of a pause: a second between two looks, four for each of two slow ones."""
Place = tuple[int, int]
What = tuple[str, str, Place]
"""One event for one group: (group, order, place)."""


class Appended(NamedTuple):
    """One event as the log has it."""

    place: Place
    position: int
    type: str


class Watch:
    """Looks on at one world."""

    def __init__(self, world: World) -> None:
        self.faults: list[str] = []
        self.repeats = 0
        self._world = world
        self._server = world.memory._server  # noqa: SLF001 - looks at what is stored
        self._ended: dict[What, list[tuple[Life | None, int]]] = {}
        self._events: dict[tuple[str, str], list[Appended]] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._upto: dict[tuple[str, str], int] = {}
        self._moved: set[tuple[str, Place]] = set()
        self._counted: dict[str, list[Place]] = {}
        self._generation: dict[int, int] = {}
        self._read = 0
        self._passed: set[What] = set()
        self._running: dict[tuple[Life | None, str, str], Place] = {}
        self._born: dict[Life | None, int] = {}
        self._stamp = 0
        self._sent: dict[int, tuple[SlotWrite, int]] = {}
        self._safe: dict[tuple[Life | None, int], int] = {}
        world.desk.met, world.desk.left = self._met, self._left

    def begins(self, life: Life) -> None:
        """A process starts: it has to know every pause that there is."""
        self._born[life] = max((pause.id for pause in self._server.pauses), default=0)

    # --- the calls

    def _met(self, call: Call) -> None:
        life, group = present(), group_of(call.subscription)
        what = (group, call.id, call.place)
        self._check_order(what)
        self._check_repeat(what, life)
        self._check_row(what)
        self._check_stops(what, life)
        key = (life, group, call.id)
        if key in self._running:
            self._fault(what, f"is called while {self._running[key]} is under way")
        self._running[key] = call.place
        if life is not None and (life.leaseless or not life.alive):
            self._fault(what, "is called by a process without a lease")

    def _left(self, call: Call) -> None:
        life, group = present(), group_of(call.subscription)
        self._running.pop((life, group, call.id), None)
        if call.ended:
            self._stamp += 1
            self._ended.setdefault((group, call.id, call.place), []).append((life, self._stamp))

    def _check_order(self, what: What) -> None:
        group, id_, place = what
        events = self.events(group, id_)
        upto = self._upto.get((group, id_), 0)
        while upto < len(events) and self.settled((group, id_, events[upto].place)):
            upto += 1
        self._upto[group, id_] = upto
        if upto < len(events) and events[upto].place < place:
            self._fault(what, f"is called before {events[upto].place} is done or skipped")

    def _check_repeat(self, what: What, life: Life | None) -> None:
        """See that only what no acknowledged commit holds is called again, and never in the process that did it."""
        if what in self._passed:
            self._fault(what, "is called though it was skipped")
        if self._effectively_once(what):
            if what[2] in self.counted(what[1]):
                self._fault(what, "is called though its effects are committed")
            return
        slot = self._slot(what[1])
        for who, stamp in self._ended.get(what, ()):
            if who is life:
                self._fault(what, "is called again by the process that did it")
            elif self._safe.get((who, slot), 0) >= stamp:
                self._fault(what, "is called again though a commit that holds it was acknowledged")
            else:
                self.repeats += 1

    def _check_row(self, what: What) -> None:
        """See that a call of a parked or waiting aggregate was begun in the store first (H10)."""
        row = self._open_row(what[0], what[1])
        if row is not None and row.state is not State.RETRYING:
            self._fault(what, f"is called while the ledger has it as {row.state}")

    def _check_stops(self, what: What, life: Life | None) -> None:
        """See that a paused group is not called by whoever started later or has had the time to know (H44)."""
        for pause in self._server.pauses:
            everywhere = pause.partition is None and pause.ended_at is None and pause.group == what[0]
            known = (self._server.now() - pause.since).total_seconds() > KNOWN
            if everywhere and (known or pause.id <= self._born.get(life, 0)):
                self._fault(what, f"is called though {pause.group} is paused ({pause.reason})")

    # --- the store

    def sent(self, writes: Sequence[SlotWrite]) -> None:
        """See `network.Watching`."""
        for write in writes:
            self._sent.setdefault(id(write.marks), (write, self._stamp))

    def acknowledged(self, writes: Sequence[SlotWrite]) -> None:
        """See `network.Watching`."""
        life = present()
        for write in writes:
            _, stamp = self._sent[id(write.marks)]
            key = (life, write.slot)
            self._safe[key] = max(stamp, self._safe.get(key, 0))

    def stored(self, writes: Sequence[SlotWrite]) -> None:
        """See `network.Watching`."""
        for write in writes:
            anew = self._begins_anew(write)
            for done in write.intents:
                self._answered(done, write.rows)
            if not anew:  # else the markers go in the same transaction, a moment later here
                self.check_slot(write.slot)

    def _begins_anew(self, write: SlotWrite) -> bool:
        """Forget what was done in a slot before a reset of the projection, if this is one (L6)."""
        known = self._server.registry.groups.get(SUMS)
        generation = 0 if known is None else write.marks[known.number].generation
        if generation == self._generation.get(write.slot, 0):
            return False
        self._generation[write.slot] = generation
        for id_ in (id_ for id_ in self.ids() if self._slot(id_) == write.slot):
            self._upto.pop((SUMS, id_), None)
            for one in self.events(SUMS, id_):
                self._ended.pop((SUMS, id_, one.place), None)
                self._passed.discard((SUMS, id_, one.place))
        return True

    def _answered(self, done: IntentDone, rows: Sequence[Row]) -> None:
        """Note which events an answer says were skipped; of a single one it tells the version, its row the place."""
        request = next(one.request for one in self._server.rows.intents.values() if one.id == done.intent_id)
        if not done.applied or request.verb not in {Verb.SKIP, Verb.SKIP_ONE} or not done.outcome["skipped"]:
            return
        group, id_ = request.group, request.aggregate_id
        upto = [one for one in self.events(group, id_) if one.place[0] <= done.outcome["through_version"]]
        if request.verb is Verb.SKIP_ONE:
            places = {row.skip_through for row in rows if row.id == done.outcome["row"]}
            chosen = [one for one in upto if one.place in places]
        else:
            chosen = upto[-done.outcome["skipped"] :]
        life = present()
        for one in chosen:
            what = (group, id_, one.place)
            self._passed.add(what)
            if any(who is life for who, _ in self._ended.get(what, ())):
                self._fault(what, f"is said to be skipped ({dict(done.outcome)}), and was done by the same process")

    def check_slot(self, slot: int) -> None:
        """Hold what the store says is settled against what is (P11)."""
        loaded = self._world.memory.partition_stores().slots._loaded(slot, [])  # type: ignore[attr-defined]  # noqa: SLF001
        for group in WANTED:
            known = self._server.registry.groups.get(group)
            if known is None:
                continue
            mark, markers = loaded.marks[known.number], loaded.settled.get(known.number, frozenset())
            unfinished = frozenset(mark.unfinished)
            for id_ in (id_ for id_ in self.ids() if self._slot(id_) == slot):
                row = self._open_row(group, id_)
                stopped = (2**31, 0) if row is None else row.stopped
                stored = [
                    one.position in markers
                    or (one.position <= mark.cursor and one.position not in unfinished and one.place < stopped)
                    for one in self.events(group, id_)
                ]
                self._check_prefix(group, id_, stored)

    def _check_prefix(self, group: str, id_: str, stored: Sequence[bool]) -> None:
        gap: Place | None = None
        for one, there in zip(self.events(group, id_), stored, strict=True):
            what = (group, id_, one.place)
            if not there and what in self._passed:
                continue  # nobody will be called for it, whatever its row's mark says
            if not there and not (group == SUMS and one.type == "noted" and self.settled(what)):
                gap = gap or one.place
            elif not there:
                continue  # done without a connection, and between calls that each commit for themselves
            elif gap is not None:
                self._fault(what, f"is settled in the store and {gap} before it is not")
            elif not self.settled(what):
                self._fault(what, "is settled in the store and was neither done nor skipped")

    # --- at the end

    def finish(self) -> None:
        """Check that nothing is lost and every effect is there once, when everything has come to rest."""
        for id_ in self.ids():
            for group in WANTED:
                if group not in self._server.registry.groups:
                    continue
                for one in self.events(group, id_):
                    what = (group, id_, one.place)
                    if not self.settled(what):
                        self._fault(what, "is lost")
            counted = self.counted(id_)
            if counted != sorted(set(counted)):
                self._fault((SUMS, id_, (0, 0)), f"has effects twice or out of order: {counted}")
        for row in self._server.rows.opened():
            self._fault((row.group, row.aggregate_id, row.stopped), f"still has a row, {row.state} for {row.reason}")

    # --- what is known

    def ids(self) -> list[str]:
        """Give the orders there are."""
        return sorted({id_ for _, id_ in self._server.log.streams})

    def events(self, group: str, id_: str) -> list[Appended]:
        """Give the events of an order that the group reads."""
        found = self._events.setdefault((group, id_), [])
        stream = self._server.log.streams.get(("order", id_), [])
        for one in stream[self._seen.get((group, id_), 0) :]:
            if one.type in WANTED[group]:
                found.append(Appended((one.version, one.sequence), one.position, one.type))
            if one.type == "moved":
                self._moved.add((id_, (one.version, one.sequence)))
        self._seen[group, id_] = len(stream)
        return found

    def settled(self, what: What) -> bool:
        """Tell whether the event is done for the group, or was skipped."""
        return what in self._passed or self.done(what)

    def done(self, what: What) -> bool:
        """Tell whether a call of the event has succeeded for the group."""
        return what[2] in self.counted(what[1]) if self._effectively_once(what) else what in self._ended

    def counted(self, id_: str) -> list[Place]:
        """Give the places of an order's events whose effects are committed, in the order of the commits."""
        statements = self._world.tables.committed
        for one in statements[self._read :]:
            if one.sql == "reset":
                self._counted.clear()
            else:
                self._counted.setdefault(one.arguments[0], []).append((one.arguments[1], one.arguments[2]))
        self._read = len(statements)
        return self._counted.get(id_, [])

    def _effectively_once(self, what: What) -> bool:
        return what[0] == SUMS and (what[1], what[2]) in self._moved

    def _open_row(self, group: str, id_: str) -> Row | None:
        rows = self._server.rows
        return rows.by_id.get(rows.open.get((group, "order", id_), ""))

    def _slot(self, id_: str) -> int:
        return self._server.log.slot_of(("order", id_))

    def _fault(self, what: What, text: str) -> None:
        group, id_, place = what
        self.faults.append(f"t={self._world.clock.monotonic():.3f} {group} {id_}@{place[0]}:{place[1]} {text}")


def group_of(subscription: str) -> str:
    """Give the group of a handler."""
    return SUMS if subscription.startswith(f"{SUMS}.") else subscription

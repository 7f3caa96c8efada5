"""Failures, successes, pauses and probes of a group in any order: what must never happen, and what must in the end."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from wow_ray.policy.budget import Systemic
from wow_ray.policy.outlook import CANARIES, Outlook, View
from wow_ray.policy.probing import Kind, Probing

RULES = Systemic()
NAMES = [f"a-{number}" for number in range(12)]


class Outages(RuleBasedStateMachine):
    """A group whose aggregates' downstream is up or down, with some whose own endpoint is dead for good.

    Follows what the runtime does with the answers: what is charged, whom a probe is, when a pause begins and ends.
    """

    def __init__(self) -> None:
        """Begin with everything up."""
        super().__init__()
        self.outlook: Outlook[str, str] = Outlook()
        self.probing: Probing[str] | None = None
        self.now = 100.0
        self.up = True
        self.dead: frozenset[str] = frozenset()
        self.charged: dict[str, int] = {}
        self.fell = -1.0
        """When the downstream went down; whoever is charged for that before the group paused gets it back."""

    @initialize(dead=st.sets(st.sampled_from(NAMES), max_size=4))
    def some_are_dead(self, dead: set[str]) -> None:
        """Choose the dead ones."""
        self.dead = frozenset(dead)

    @rule(seconds=st.sampled_from([0.01, 0.1, 0.4, 1.0, 9.0, 61.0]))
    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    @rule(up=st.booleans())
    def downstream(self, up: bool) -> None:  # noqa: FBT001 - hypothesis gives it by name
        """Let the downstream go or come back."""
        if self.up and not up:
            self.fell = self.now
        self.up = up

    @precondition(lambda self: self.probing is None)
    @rule(name=st.sampled_from(NAMES), by_class=st.booleans())
    def called(self, name: str, by_class: bool) -> None:  # noqa: FBT001 - as above
        """Call one in the normal flow."""
        began, self.now = self.now, self.now + 0.001
        if self.up and name not in self.dead:
            self.outlook.good(name, began, self.now)
            self.charged.pop(name, None)
            return
        own = self.outlook.own(name)
        view = self.outlook.failed(name, began, self.now, RULES, by_class=by_class)
        assert not own or view is View.OWN, "others have succeeded since: it is its own, and no outage (W5)"
        if view is View.OWN:
            self.outlook.charged(name, self.now, RULES)
            self.charged[name] = self.charged.get(name, 0) + 1
        elif view is View.OUTAGE:
            assert by_class or len(self.outlook.window) >= RULES.aggregates, (
                "three different ones, or by class (W1, D3)"
            )
            relapsed = self.outlook.relapsed(self.now)
            needs, back = self.outlook.paused(self.now, RULES)
            assert needs == (CANARIES if relapsed else 1)
            for charge in back:
                self.charged[charge.key] = max(0, self.charged.get(charge.key, 0) - 1)
            self.probing = Probing(needs)

    @precondition(lambda self: self.probing is not None)
    @rule(which=st.integers(0, len(NAMES) - 1))
    def probed(self, which: int) -> None:
        """Send the next probe out."""
        assert self.probing is not None
        self.now += self.probing.wait(RULES, 0.5)
        for kind in self.probing.kinds():
            failing = kind is Kind.FAILING
            some = [name for name in NAMES if (name in self.outlook.failing) is failing]
            if some:
                break
        else:
            return
        name = some[which % len(some)]
        before = dict(self.charged)
        if not self.up or name in self.dead:
            self.outlook.begins_to_fail(name, self.now)
            self.probing.failed(kind)
            assert self.charged == before, "a probe is charged nothing (D3)"
            return
        self.outlook.good(name, self.now, self.now)
        if self.probing.succeeded(name, kind, self.now):
            self.outlook.ended(self.now, by_another=kind is Kind.HEALTHY)
            self.probing = None

    @precondition(lambda self: self.probing is not None)
    @rule()
    def comes_back(self) -> None:
        """With the downstream up every pause ends, however many aggregates are dead for good (W4, W5)."""
        self.up = True
        for number in range(8 * CANARIES):
            self.probed(number)
            if self.probing is None:
                return
        raise AssertionError("it stays paused though the downstream is up")

    @invariant()
    def probes_are_paced(self) -> None:
        """W4: never more than five seconds, never none."""
        if self.probing is not None:
            assert 0 < self.probing.wait(RULES, 0.999) <= RULES.max_probe

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """W1: the window holds only those that fail, or were parked for it."""
        assert set(self.outlook.window) <= set(NAMES)


TestOutages = Outages.TestCase
TestOutages.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)

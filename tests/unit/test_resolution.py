"""From declarations and settings to one frozen `AppSpec`, with every mistake found at start."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import BaseModel

from tests.unit.authored import OrderPaid, OrderShipped, OrderState, ParcelSent, order, refused, resolved
from wow_ray import Aggregate, App, Context, Event, ProjectContext, ReactContext, StateEvent, on_event, retry
from wow_ray.handlers.specs import AppSpec, HandlerSpec
from wow_ray.handlers.states import read_fold
from wow_ray.policy.budget import DEFAULT_RETRY, Backpressure, ParkedRetries, Systemic


class Sales:
    """A projection with two handlers."""

    @on_event
    async def on_paid(self, event: Event[OrderPaid], ctx: ProjectContext) -> None:
        """Write a row."""

    @on_event
    def on_shipped(self, event: OrderShipped) -> None:
        """Write a row, blocking."""


@retry(max_attempts=3, initial_backoff="1s", unrecoverable=[ValueError], systemic=[OSError])
class ShipmentNotifier:
    """A reactor with two handlers, and settings for both."""

    @on_event(aliases=["on_sent", "Notifier.on_shipped"])
    @retry(initial_backoff="0s", unrecoverable=[KeyError])
    async def on_shipped(self, event: StateEvent[OrderState, OrderShipped], ctx: ReactContext) -> None:
        """Tell the buyer."""

    @on_event
    async def on_anything(self, event: StateEvent[OrderState], ctx: Context) -> None:
        """Tell somebody."""


def shop(settings: dict[str, Any] | None = None, environ: dict[str, str] | None = None) -> AppSpec:
    """Resolve an app of both."""
    app = App("shop", key_prefix="shop-")
    app.projection(Sales)
    app.reactor(ShipmentNotifier)
    return resolved(app, settings, environ)


def handler(spec: AppSpec, subscription: str) -> HandlerSpec:
    """Find one handler."""
    return next(found for found in spec.handlers() if found.subscription == subscription)


def test_a_projection_is_one_group_and_each_handler_of_a_reactor_its_own() -> None:
    """H3, L5: groups, their order, and where they start."""
    groups = shop().groups
    assert [(group.name, group.kind, group.start, group.isolation) for group in groups] == [
        ("Sales", "projection", "beginning", "lane"),
        ("ShipmentNotifier.on_shipped", "reactor", "end", "lane"),
        ("ShipmentNotifier.on_anything", "reactor", "end", "lane"),
    ]
    assert [found.function for found in groups[0].handlers] == ["on_paid", "on_shipped"]
    assert shop().processors() == (Sales, ShipmentNotifier)


def test_together_joins_the_handlers_of_a_reactor() -> None:
    """H3: the class option makes one group of the processor's name; `name` and `start` are options too."""

    class Mailer:
        """Two handlers that share a lane."""

        @on_event(aliases=["Post.on_it"])
        async def on_paid(self, event: OrderPaid) -> None:
            """Send a mail."""

        @on_event
        async def on_shipped(self, event: OrderShipped) -> None:
            """Send a mail."""

    app = App("shop")
    app.reactor(name="Letters", start="beginning", together=True)(Mailer)
    (group,) = resolved(app).groups
    assert (group.name, group.start, group.aliases) == ("Letters", "beginning", ("Post",))
    assert [found.subscription for found in group.handlers] == ["Letters.on_paid", "Letters.on_shipped"]


def test_a_handler_spec_says_what_the_runtime_needs() -> None:
    """Form, state, context, connection and thread of each handler."""
    found = {spec.subscription: spec for spec in shop().handlers()}
    paid, shipped = found["Sales.on_paid"], found["Sales.on_shipped"]
    told = found["ShipmentNotifier.on_shipped"]
    assert (paid.wants_connection, paid.wants_context, paid.body_only, paid.blocking) == (True, True, False, False)
    assert (shipped.wants_connection, shipped.wants_context, shipped.body_only) == (False, False, True)
    assert (shipped.blocking, shipped.is_async) == (True, False)
    assert (told.wants_state, told.aggregate, list(told.events)) == (OrderState, "order", ["order_shipped"])
    assert "test_resolution.py:" in told.place


def test_a_group_finds_the_handler_of_a_type() -> None:
    """H21: `StateEvent[S]` takes every type of the aggregate, also an unknown one; for state all types are read."""
    sales, told, anything = shop().groups
    assert sales.handler("order", "order_paid") is sales.handlers[0]
    assert sales.handler("order", "order_teleported") is None
    assert told.handler("order", "order_paid") is None
    assert anything.handlers[0].all_types
    assert set(anything.handlers[0].events) == {"order_paid", "order_shipped"}
    assert anything.handler("order", "order_teleported") is anything.handlers[0]
    assert anything.handler("parcel", "parcel_sent") is None
    assert [set(group.aggregates) for group in (sales, told, anything)] == [set(), {"order"}, {"order"}]


def test_events_and_states_within_reach_are_collected() -> None:
    """What handlers name and what states fold can be decoded; the fold knows its own types."""
    spec = shop()
    assert set(spec.events) == {("order", "order_paid"), ("order", "order_shipped")}
    assert spec.events["order", "order_shipped"].revision == 2
    fold = spec.states[OrderState]
    assert (fold.aggregate, set(fold.events)) == ("order", {"order_paid", "order_shipped"})
    assert (spec.context, spec.key_prefix) == ("shop", "shop-")


def test_aliases_are_full_former_names_of_subscriptions_and_groups() -> None:
    """S20, P14: an alias of the function belongs to the processor's name; a reactor's group has its handler's."""
    group = shop().groups[1]
    assert group.handlers[0].aliases == ("ShipmentNotifier.on_sent", "Notifier.on_shipped")
    assert group.aliases == ("ShipmentNotifier.on_sent", "Notifier.on_shipped")
    assert shop().groups[0].aliases == ()


def test_a_renamed_projection_keeps_its_group_through_its_handlers_aliases() -> None:
    """S20: the former class name in an alias is the group's former name."""

    class Turnover:
        """Was called Sales."""

        @on_event(aliases=["Sales.on_paid"])
        async def on_paid(self, event: OrderPaid) -> None:
            """Write a row."""

    app = App("shop")
    app.projection(Turnover)
    assert resolved(app).groups[0].aliases == ("Sales",)
    app.projection(Sales)
    with refused("WOW-ALIAS", "'Sales.on_paid'", "Sales.on_paid ("):
        resolved(app)


def test_a_handler_cannot_take_the_group_of_a_projection_that_lives_on() -> None:
    """L5: progress can be taken over once, from what is no more."""

    class Turnover:
        """Takes a handler out of Sales."""

        @on_event(aliases=["Sales.on_refunded"])
        async def on_paid(self, event: OrderPaid) -> None:
            """Write a row."""

    app = App("shop")
    app.projection(Turnover)
    app.projection(Sales)
    with refused("WOW-ALIAS", "takes over the group 'Sales'", "Turnover ("):
        resolved(app)


def test_one_alias_for_two_handlers_is_refused() -> None:
    """S20: nobody could say which of them goes on where the former one stopped."""

    class Twice:
        """Two handlers with one past."""

        @on_event(aliases=["on_it"])
        async def on_paid(self, event: OrderPaid) -> None:
            """Do one half."""

        @on_event(aliases=["on_it"])
        async def on_shipped(self, event: OrderShipped) -> None:
            """Do the other half."""

    app = App("shop")
    app.reactor(Twice)
    with refused("WOW-ALIAS", "'Twice.on_it'", "on_paid (", "on_shipped ("):
        resolved(app)


def test_two_processors_of_one_name_are_an_error_naming_both() -> None:
    """Their subscriptions would share progress, keys and rows."""
    app = App("shop")
    app.projection(Sales)
    app.reactor(name="Sales")(ShipmentNotifier)
    with refused("WOW-TWICE", "ShipmentNotifier (", "Sales (", "another name="):
        resolved(app)


def test_two_classes_declared_as_one_event_type_are_an_error_naming_both() -> None:
    """A stored event of that type could be decoded as either, whatever their revisions."""

    @order.event("order_paid", revision=2)
    class OtherPaid(BaseModel):
        """Claims a type that is taken."""

    class Others:
        """Reads it."""

        @on_event
        async def on_other(self, event) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - set below
            """Handle it."""

    Others.on_other.__annotations__["event"] = OtherPaid
    app = App("shop")
    app.projection(Sales)
    app.reactor(Others)
    with refused("WOW-TWICE", "'order_paid' of 'order'", "OtherPaid (", "OrderPaid ("):
        resolved(app)


def test_two_handlers_of_a_group_cannot_take_one_type() -> None:
    """H3: within a group one function handles a type; reactor handlers are groups of their own, so there it is fine."""

    class Twice:
        """Two handlers of one type."""

        @on_event
        async def first(self, event: OrderPaid) -> None:
            """Handle it."""

        @on_event
        async def second(self, event: Event[OrderPaid | OrderShipped]) -> None:
            """Handle it too."""

    class TwiceAll:
        """Two handlers of everything."""

        @on_event
        async def first(self, event: StateEvent[OrderState]) -> None:
            """Handle it."""

        @on_event
        async def second(self, event: StateEvent[OrderState]) -> None:
            """Handle it too."""

    for cls in (Twice, TwiceAll):
        fine, joined, projection = App("a"), App("b"), App("c")
        fine.reactor(cls)
        assert len(resolved(fine).groups) == 2
        joined.reactor(together=True)(cls)
        projection.projection(cls)
        for app in (joined, projection):
            with refused("WOW-TWICE", "first (", "second (", "both take event 'order_paid' of 'order'"):
                resolved(app)


def test_a_processor_without_handlers_is_refused() -> None:
    """A class that would never be called is a mistake."""
    app = App("shop")
    app.reactor(type("Idle", (), {}))
    with refused("WOW-PROCESSOR", "no handlers"):
        resolved(app)


class Unannotated:
    """A state that says not what it takes."""

    def apply(self, event) -> object:  # type: ignore[no-untyped-def] # noqa: ANN001 - the case
        """Fold one event."""


class Undecided:
    """A state that takes anything."""

    def apply(self, event: BaseModel) -> object:
        """Fold one event."""


class Foreign:
    """A state of an order that takes a parcel's events."""

    def apply(self, event: OrderPaid | ParcelSent) -> object:
        """Fold one event."""


class Needy:
    """A state that cannot begin with nothing."""

    def __init__(self, needed: int) -> None:
        """Need something."""

    def apply(self, event: OrderPaid) -> object:
        """Fold one event."""


@pytest.mark.parametrize(
    ("cls", "code", "text"),
    [
        (Unannotated, "WOW-STATE", "event: OrderPaid | OrderShipped"),
        (Undecided, "WOW-UNDECLARED", "BaseModel"),
        (Foreign, "WOW-ONE-AGGREGATE", "ParcelSent of 'parcel'"),
        (Needy, "WOW-STATE", "without arguments"),
    ],
)
def test_a_state_that_cannot_be_folded_is_refused(cls: type[Any], code: str, text: str) -> None:
    """H21: the fold must know which events of its own aggregate it takes, and begin with nothing."""
    with refused(code, cls.__name__, "test_resolution.py:", text):
        read_fold(order.state(cls))


def test_without_settings_everything_is_built_in() -> None:
    """B1: the defaults, and where they come from."""
    found = handler(shop(), "Sales.on_paid")
    assert (found.budget, found.backpressure, found.parked, found.systemic, found.concurrency) == (
        DEFAULT_RETRY,
        Backpressure(),
        ParkedRetries(),
        Systemic(),
        None,
    )
    assert set(found.provenance.values()) == {"built-in"}


def test_each_setting_comes_from_the_first_that_gives_it() -> None:
    """C1: host per subscription, handler, class, host, built-in; setting by setting, and shown with its origin."""
    found = handler(
        shop(
            {
                "subscription": {"retry": {"max_backoff": "9s", "max_attempts": 9}, "parked": {"max_retries": 4}},
                "subscriptions": {
                    "ShipmentNotifier.on_shipped": {
                        "concurrency": 2,
                        "retry": {"timeout": "20s"},
                        "parked": {"initial_delay": "1m"},
                        "systemic": {"mass_parks": 0},
                    }
                },
            }
        ),
        "ShipmentNotifier.on_shipped",
    )
    budget = found.budget
    assert (budget.timeout, budget.initial_backoff, budget.max_attempts) == (20.0, 0.0, 3)
    assert (budget.max_backoff, budget.multiplier) == (9.0, 2.0)
    assert (found.parked.max_retries, found.parked.initial_delay, found.parked.max_delay) == (4, 60.0, 86_400.0)
    assert (found.systemic.mass_parks, found.concurrency) == (0, 2)
    origins = found.provenance
    assert [origins[f"retry.{name}"] for name in ("timeout", "initial_backoff", "max_attempts", "max_backoff")] == [
        "host subscription",
        "handler",
        "class",
        "host",
    ]
    assert (origins["retry.multiplier"], origins["parked.max_retries"]) == ("built-in", "host")
    assert (origins["parked.initial_delay"], origins["concurrency"]) == ("host subscription", "host subscription")


def test_zero_is_given_and_not_given_is_none() -> None:
    """S45: 3 calls inherited from the class, a wait of 0 as the handler says, the multiplier inherited."""
    budget = handler(shop(), "ShipmentNotifier.on_shipped").budget
    assert (budget.max_attempts, budget.initial_backoff, budget.multiplier) == (3, 0.0, 2.0)


def test_budgets_do_not_multiply() -> None:
    """S47: class 3, handler 4, host 2 for the subscription: 2 calls, not 24."""

    @retry(max_attempts=3)
    class Counted:
        """Annotated at every level."""

        @on_event
        @retry(max_attempts=4)
        async def on_paid(self, event: OrderPaid) -> None:
            """Handle it."""

    app = App("shop")
    app.reactor(Counted)
    assert handler(resolved(app), "Counted.on_paid").budget.max_attempts == 4
    host = {"subscriptions": {"Counted.on_paid": {"retry": {"max_attempts": 2}}}}
    assert handler(resolved(app, host), "Counted.on_paid").budget.max_attempts == 2


def test_a_handlers_list_replaces_its_processors_of_the_same_name() -> None:
    """K3: `unrecoverable` is the handler's own, `systemic` the class's; another handler has both of the class."""
    own = handler(shop(), "ShipmentNotifier.on_shipped").lists
    assert (own.unrecoverable, own.systemic, own.recoverable) == ((KeyError,), (OSError,), ())
    assert handler(shop(), "ShipmentNotifier.on_anything").lists.unrecoverable == (ValueError,)


@pytest.mark.parametrize("key", ["Sales.on_paid", "shop.Sales.on_paid"])
def test_a_key_may_carry_the_context(key: str) -> None:
    """C4, S79: both shapes name the same subscription."""
    settings = {"subscriptions": {key: {"retry": {"max_attempts": 8, "timeout": "20s"}}}}
    budget = handler(shop(settings), "Sales.on_paid").budget
    assert (budget.max_attempts, budget.timeout) == (8, 20.0)


def test_both_shapes_together_must_not_contradict_each_other() -> None:
    """C4, S79: what differs is ambiguous and stops the start; what does not is one setting."""
    first: dict[str, Any] = {"retry": {"max_attempts": 8}}
    both = {"Sales.on_paid": first, "shop.Sales.on_paid": {"retry": {"timeout": "20s"}}}
    budget = handler(shop({"subscriptions": both}), "Sales.on_paid").budget
    assert (budget.max_attempts, budget.timeout) == (8, 20.0)
    both["shop.Sales.on_paid"] = {"retry": {"max_attempts": 9}}
    with refused("WOW-C4", "ambiguous", '"Sales.on_paid"', '"shop.Sales.on_paid"', "retry.max_attempts", "8", "9"):
        shop({"subscriptions": both})


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("Sales.on_payed", "'Sales.on_paid'"),
        ("shop.Sales.on_payed", "'shop.Sales.on_paid'"),
        ("bank.Sales.on_paid", "'Sales.on_paid'"),
    ],
)
def test_an_unknown_key_names_the_nearest(key: str, near: str) -> None:
    """C4, S79: a typo stops the start instead of being ignored."""
    with refused("WOW-C4", f"no subscription is called '{key}'", f"did you mean {near}?"):
        shop({"subscriptions": {key: {"concurrency": 1}}})


def test_a_section_under_subscriptions_is_pointed_to_subscription() -> None:
    """C4: `subscriptions.retry` is a slip for `subscription.retry`."""
    with refused("WOW-C4", "no subscription is called 'retry'; did you mean subscription.retry?"):
        shop({"subscriptions": {"retry": {"max_attempts": 3}}})


def test_a_former_name_still_finds_its_subscription_with_a_warning() -> None:
    """S20, C4: host settings written for the former name count, and the log says to rename them."""
    spec = shop({"subscriptions": {"shop.Notifier.on_shipped": {"retry": {"max_attempts": 8}}}})
    assert handler(spec, "ShipmentNotifier.on_shipped").budget.max_attempts == 8
    assert any("former name of 'ShipmentNotifier.on_shipped'" in warning for warning in spec.warnings)


def test_a_wait_cut_by_a_maximum_of_another_level_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """C6, S42: `initial_backoff` 10 s under a cap of 5 s waits 5, 5, 5, 5; logged once, however often resolved."""

    class Slow:
        """Wants longer waits than the host allows."""

        @on_event
        @retry(initial_backoff="10s")
        async def on_paid(self, event: OrderPaid) -> None:
            """Handle it."""

    app = App("shop")
    app.reactor(Slow)
    with caplog.at_level(logging.WARNING, "wow_ray.handlers"):
        for _ in range(2):
            budget = handler(resolved(app), "Slow.on_paid").budget
    assert (budget.initial_backoff, budget.max_backoff) == (5.0, 5.0)
    (record,) = caplog.records
    assert record.name == "wow_ray.handlers"
    assert "Slow.on_paid" in record.getMessage()
    assert "10s" in record.getMessage()


def test_a_contradiction_of_the_host_with_itself_is_an_error() -> None:
    """C6: at one level it stops the start, in all four sections; across levels it is cut, with one warning."""
    crossed = {
        "retry": {"initial_backoff": "10s", "max_backoff": "5s"},
        "parked": {"initial_delay": "2h", "max_delay": "1h"},
        "backpressure": {"initial_backoff": "2s", "max_backoff": "1s"},
        "systemic": {"initial_probe": "2s", "max_probe": "1s"},
    }
    for part, values in crossed.items():
        with refused("WOW-C6", "Sales.on_paid"):
            shop({"subscription": {part: values}})
    spec = shop({"subscription": {"systemic": {"initial_probe": "7s"}}})
    assert handler(spec, "Sales.on_paid").systemic == Systemic(initial_probe=5.0)
    assert [warning for warning in spec.warnings if "systemic" in warning] == [
        "subscription.*: systemic.initial_probe (7s) is above systemic.max_probe (5s): it is cut to that"
    ]


def test_the_environment_sets_a_single_subscription_as_one_json_value() -> None:
    """S79: the same subscription, whichever source names it and in which shape; the environment wins."""
    value = '{"shop.Sales.on_paid": {"retry": {"max_attempts": 8}}}'
    settings = {"subscriptions": {"Sales.on_paid": {"retry": {"max_attempts": 4, "timeout": "20s"}}}}
    budget = handler(shop(settings, {"WOW_RAY_SUBSCRIPTIONS": value}), "Sales.on_paid").budget
    assert (budget.max_attempts, budget.timeout) == (8, 20.0)


def test_one_class_may_serve_two_apps() -> None:
    """Declaring attaches to the class and collects in the app; nothing is global."""
    first, second = App("first"), App("second")
    first.projection(Sales)
    second.projection(name="Turnover")(Sales)
    assert resolved(first).groups[0].name == "Sales"
    assert resolved(second).groups[0].name == "Turnover"
    assert Aggregate("order").name == order.name


class Plain:
    """A state that pydantic knows nothing of."""

    def apply(self, event: OrderPaid) -> Plain:
        """Fold one event."""
        del event
        return self


order.state(Plain)


class Scorer:
    """A processor whose state can be written down."""

    @on_event
    async def on_shipped(self, event: StateEvent[OrderState, OrderShipped], ctx: Context) -> None:
        """Score it."""


class Rebuilt(Scorer):
    """One with a hook of a reset."""

    async def on_reset(self, connection: object) -> None:
        """Empty the tables."""


class OddScorer:
    """A processor whose state cannot be written down."""

    @on_event
    async def on_paid(self, event: StateEvent[Plain, OrderPaid]) -> None:
        """Score it."""


def test_a_processor_may_be_called_in_processes_of_its_own() -> None:
    """`isolation="actor"`: reactors and projections; what each process is to have stands with the group."""
    app = App("shop")
    app.reactor(isolation="actor", num_cpus=2, num_gpus=0.5)(Scorer)
    app.projection(isolation="actor")(type("Totals", (Scorer,), {}))

    reactor, projection = resolved(app).groups

    assert (reactor.isolation, reactor.processes.num_cpus, reactor.processes.num_gpus) == ("actor", 2.0, 0.5)
    assert (projection.isolation, projection.processes.num_gpus) == ("actor", 0.0)


def test_what_a_call_in_another_process_cannot_be_given_is_refused() -> None:
    """H4: a connection of the partition, a hook in its transaction, a state that nothing can write down."""
    app = App("shop")
    app.projection(isolation="actor")(Sales)
    with refused("WOW-ISOLATION", "Sales.on_paid", "ctx.connection", "ctx: Context"):
        resolved(app)

    with refused("WOW-ISOLATION", "on_reset"):
        App("shop").projection(isolation="actor")(Rebuilt)

    app = App("shop")
    app.reactor(isolation="actor")(OddScorer)
    with refused("WOW-ISOLATION", "Plain", "BaseModel or a dataclass"):
        resolved(app)

"""Which rows and which calls a command is about, in the words of the API's filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from wow_ray.cli.given import Options
from wow_ray.failure import Category
from wow_ray.ops import CallQuery, ParkedQuery
from wow_ray.ops.calling import OPEN_CALLS
from wow_ray.ops.progress import SHOWN
from wow_ray.policy.durable_call import CallState
from wow_ray.policy.parked import Reason, State

Csv = Annotated[bool, typer.Option("--csv", help="Write CSV: a heading, then all rows, or --limit of them.")]
After = Annotated[str | None, typer.Option("--after", help="Where the page before ended.")]
Limit = Annotated[
    int | None, typer.Option("--limit", help="At most so many, 1 to 1000. Default: 100, as CSV all.", min=1, max=1_000)
]
PAGE = 100


@dataclass(frozen=True, slots=True)
class OfRows(Options):
    """Which parked aggregates."""

    group: Annotated[str | None, typer.Option("--group", help="Only this group.")] = None
    subscription: Annotated[
        str | None, typer.Option("--subscription", help="Only this handler (Processor.handler).")
    ] = None
    aggregate: Annotated[
        str | None, typer.Option("--aggregate", help="Only this kind (order) or aggregate (order/o-42).")
    ] = None
    state: Annotated[
        list[State] | None,
        typer.Option("--state", help="Only this state; repeatable. Default: parked, retrying, exhausted."),
    ] = None
    stopped_for: Annotated[
        Reason | None, typer.Option("--stopped-for", "--reason", help="Only rows that stopped for this.")
    ] = None
    fingerprint: Annotated[str | None, typer.Option("--fingerprint", help="Only errors like this one.")] = None
    category: Annotated[Category | None, typer.Option("--category", help="Only errors of this category.")] = None
    error_type: Annotated[
        str | None, typer.Option("--error-type", help="Only errors of this class, by its whole name.")
    ] = None
    text: Annotated[str | None, typer.Option("--text", help="Only errors with this in their type or message.")] = None
    stopped_version: Annotated[
        int | None, typer.Option("--stopped-version", help="Only rows that stopped at this version.", min=0)
    ] = None

    def query(
        self, after: str | None = None, limit: int | None = None, sort: Literal["oldest", "newest"] = "oldest"
    ) -> ParkedQuery:
        """Give it in the words of `Operations`."""
        kind, _, identity = (self.aggregate or "").partition("/")
        return ParkedQuery(
            states=frozenset(self.state) if self.state else SHOWN,
            group=self.group,
            subscription=self.subscription,
            aggregate=kind or None,
            aggregate_id=identity or None,
            reason=self.stopped_for,
            fingerprint=self.fingerprint,
            after=after,
            limit=PAGE if limit is None else limit,
            category=self.category,
            error_type=self.error_type,
            text=self.text,
            stopped_version=self.stopped_version,
            newest_first=sort == "newest",
        )


@dataclass(frozen=True, slots=True)
class OfCalls(Options):
    """Which durable calls."""

    function: Annotated[str | None, typer.Option("--function", help="Only calls of this function.")] = None
    state: Annotated[
        list[CallState] | None,
        typer.Option("--state", help="Only this state; repeatable. Default: waiting, running, exhausted."),
    ] = None
    fingerprint: Annotated[str | None, typer.Option("--fingerprint", help="Only errors like this one.")] = None
    key: Annotated[str | None, typer.Option("--key", help="Only calls submitted under this key.")] = None

    def query(self, after: str | None = None, limit: int | None = None) -> CallQuery:
        """Give it in the words of `Operations`."""
        states = frozenset(self.state) if self.state else OPEN_CALLS
        return CallQuery(states, self.function, self.fingerprint, self.key, after, PAGE if limit is None else limit)

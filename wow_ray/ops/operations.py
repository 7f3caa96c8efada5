"""Everything an operator may see and ask, in one place; the command line, the HTTP API and the console call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from wow_ray.errors import NotFoundError, OperationError
from wow_ray.names import nearest
from wow_ray.ops.calling import CallOperations
from wow_ray.ops.commands import Command, Commanding
from wow_ray.ops.effective import SettingView
from wow_ray.ops.finding import MOST_LISTED, Finding, ParkedQuery, is_unstorable
from wow_ray.ops.finding_views import ActionPage, ActionView, AlikeView, EventView
from wow_ray.ops.functions import FunctionOperations
from wow_ray.ops.history import HistoryView, Range, history
from wow_ray.ops.known import Known
from wow_ray.ops.lags import behind, first_places, oldest_of
from wow_ray.ops.live import Lagging, by_partition, heard_of, live_group
from wow_ray.ops.masking import UNKNOWN, Masked
from wow_ray.ops.notifying import NoticeOperations
from wow_ray.ops.pause_views import PauseAnswer, PauseView, pauses_of
from wow_ray.ops.pausing import Pausing, group_named
from wow_ray.ops.progress import GroupView, HolderView, SizeView, StatusView, group_view, status_view
from wow_ray.ops.scaling import Scaling, absent_of, move_views, moves_of
from wow_ray.ops.views import Applied, Count, ParkedDetail, ParkedPage, ParkedView, Pending
from wow_ray.policy.parked import Verb
from wow_ray.policy.pauses import STOPS, PauseReason
from wow_ray.ports.clock import Clock
from wow_ray.ports.ledger import ActionFilter
from wow_ray.ports.overview import Overview
from wow_ray.ports.plans import Plans
from wow_ray.ports.stores import ClientStores

__all__ = ["MOST_LISTED", "Operations", "ParkedQuery"]


class Operations:
    """Looks at one context, commands its parked aggregates, and has groups stand still."""

    def __init__(
        self,
        context: str,
        *,
        client: ClientStores,
        overview: Overview,
        clock: Clock,
        new_id: Callable[[], str],
        known: Known | None = None,
        plans: Plans | None = None,
    ) -> None:
        """`known` are the groups of the operator's app, else what the newest program declared to the store counts.

        `plans` tell which plan an app on Ray follows.
        """
        self.context = context
        self._ledger = client.ledger
        self._reader = client.reader
        self._overview = overview
        self._known = known
        self._plans = plans
        self._pauses = client.pauses
        self._reports = client.reports
        self._samples = client.samples
        masked = Masked(UNKNOWN if known is None else known.masking, clock)
        self.calls = CallOperations(client.calls, new_id, masked)
        """What may be done about durable calls."""
        declared = () if known is None else known.functions
        self.functions = FunctionOperations(client.calls, client.function_pauses, new_id, declared)
        """What may be done about durable functions."""
        self.notices = NoticeOperations(context, client.outbox, new_id)
        """What webhooks were told, and what may be done about it."""
        self.batches = client.batches
        """Where commands on many are kept."""
        self.clock = clock
        self.new_id = new_id
        self._finding = Finding(client.ledger, client.reader, overview, masked)
        self.scaling = Scaling(context, plans, overview, clock)
        self._commanding = Commanding(context, client.ledger, overview, clock, new_id)
        self._pausing = Pausing(context, client.pauses, overview, plans, new_id)

    # --- looking

    async def parked(self, query: ParkedQuery) -> ParkedPage:
        """List rows by id, which is oldest first; raises `OperationError` for a page of no size."""
        return await self._finding.page(query, await self._now_known())

    async def count(self, query: ParkedQuery) -> Count:
        """Count rows, whatever the query's page; a filter by more than group and state stops at 10,000 rows."""
        return await self._finding.count(query)

    async def alike(self, query: ParkedQuery, limit: int = 50) -> tuple[AlikeView, ...]:
        """Group rows by the fingerprint of their last error, those of most rows first."""
        return await self._finding.alike(query, limit)

    async def categories(self) -> Mapping[str, int]:
        """Count what people are shown as parked by the category of its last error."""
        return await self._finding.categories()

    async def parked_row(self, row_id: str) -> ParkedDetail:
        """Show one row, open or ended, with everything known about it; raises `NotFoundError`."""
        return await self._finding.detail(row_id, await self._now_known())

    async def row(self, row_id: str) -> ParkedView:
        """Show one row, open or ended, as in a list; raises `NotFoundError`."""
        return ParkedView.of(await self._finding.row(row_id), await self._now_known())

    async def stream(self, row_id: str, *, payloads: bool = False) -> tuple[EventView, ...]:
        """Show the events around the one that a row stopped at, with `payloads` what is in them, masked."""
        return await self._finding.stream(row_id, await self._now_known(), payloads=payloads)

    async def settings(self, subscription: str) -> tuple[SettingView, ...]:
        """Show what a handler runs under and where each setting comes from; empty where the app is not known."""
        return (await self._now_known()).settings.get(subscription, ())

    async def action(self, request_id: str) -> ActionView | None:
        """Show what was asked for under a request id, and what became of it; `None` = nothing was."""
        intent = None if is_unstorable(request_id) else await self._ledger.intent(request_id)
        return None if intent is None else ActionView.of(intent)

    async def actions(self, wanted: ActionFilter) -> ActionPage:
        """List what was asked for and what became of it, the newest first: the audit."""
        return await self._finding.actions(wanted)

    async def subscriptions(self) -> tuple[GroupView, ...]:
        """Show every group ever registered: how far it has come in each slot, what is parked, what is done of it."""
        snapshot = await self._overview.snapshot()
        counts = await self._ledger.counts()
        known = self._known or Known.of_store(snapshot.groups)
        present = await self._pauses.present()
        lags = {group.number: behind(snapshot, group) for group in snapshot.groups}
        places = {place for each in lags.values() for place in first_places(each)}
        events = {(event.slot, event.position): event for event in await self._reader.at(places)}
        heard = heard_of(snapshot, await self._reports.present())
        found = []
        for group in snapshot.groups:
            of_one = lags[group.number]
            view = group_view(group, of_one, oldest_of(of_one, events, snapshot.now), counts, known)
            left = {
                name: Lagging(sum(each.lag for each in some), oldest_of(some, events, snapshot.now))
                for name, some in by_partition(snapshot, of_one).items()
            }
            live = live_group(group.name, heard, left)
            found.append(replace(view, pauses=pauses_of(present, group.number), live=live, context=self.context))
        return tuple(found)

    async def subscription(self, name: str) -> GroupView:
        """Show one group, by its own name or by that of a subscription in it; raises `NotFoundError`."""
        group = group_named(await self._overview.groups(), name, self.context)
        return next(each for each in await self.subscriptions() if each.group == group.name)

    async def pauses(self, name: str, limit: int = 100) -> tuple[PauseView, ...]:
        """Show when and why a group was paused and who resumed it, the newest first; present pauses among them."""
        return await self._pausing.history(name, limit)

    async def status(self) -> StatusView:
        """Show the store as a whole: who owns what and how it is, and what is left to do."""
        snapshot = await self._overview.snapshot()
        heard = heard_of(snapshot, await self._reports.present())
        seen = status_view(self.context, snapshot, await self._ledger.counts(), heard)
        stopped = {pause.group for pause in await self._pauses.present() if pause.reason in STOPS}
        stopped |= {f"calls of {one.function}" for one in (await self.functions.listed()).functions if one.pauses}
        seen = replace(seen, paused=tuple(sorted(stopped)))
        plan = None if self._plans is None else await self._plans.present()
        if plan is None:
            return seen
        moves, absent = move_views(moves_of(plan, snapshot)), absent_of(plan, snapshot)
        return replace(seen, plan=plan.number, release=plan.release, moves=moves, absent=absent)

    async def overview(self) -> StatusView:
        """Show the store as a whole, as `status` does, what takes how much room, and what keeps it from being freed."""
        return replace(await self.status(), sizes=await self.sizes(), holders=await self.holders())

    async def sizes(self) -> tuple[SizeView, ...]:
        """Show what takes how much room, the largest first."""
        return tuple(SizeView(each.name, each.rows, each.bytes) for each in await self._overview.sizes())

    async def holders(self) -> tuple[HolderView, ...]:
        """Show what keeps the store from cleaning up after changes, the oldest first."""
        return tuple(HolderView(each.name, each.seconds, each.bytes) for each in await self._overview.holders())

    async def history(self, range_: Range, name: str | None = None) -> HistoryView:
        """Show how all groups stood over the last hours, or the one of that name; raises `NotFoundError`."""
        snapshot = await self._overview.snapshot()
        group = None if name is None else group_named(snapshot.groups, name, self.context).number
        return await history(self._samples, snapshot.now, range_, group)

    # --- asking

    async def resume(self, row_id: str, command: Command) -> Applied | Pending:
        """Read on from the stopped event with a fresh budget and fresh retries (P9)."""
        return await self._commanding.on_row(Verb.RESUME, row_id, command, await self._now_known())

    async def skip(
        self, row_id: str, command: Command, *, through_version: int | None = None, only: bool = False
    ) -> Applied | Pending:
        """Pass over held events through a version, or all held ones; with `only` the stopped event alone (P9)."""
        if only and through_version is not None:
            raise OperationError("a skip is of the stopped event only, or through a version; not both")
        if through_version is not None and through_version < 1:
            raise OperationError(f"through_version is {through_version}; versions begin at 1")
        verb = Verb.SKIP_ONE if only else Verb.SKIP
        return await self._commanding.on_row(verb, row_id, command, await self._now_known(), through_version)

    async def retry_now(self, row_id: str, command: Command) -> Applied | Pending:
        """Make the next automatic retry due; it counts as one of them."""
        return await self._commanding.on_row(Verb.RETRY_NOW, row_id, command, await self._now_known())

    async def park(self, group: str, aggregate: str, aggregate_id: str, command: Command) -> Applied | Pending:
        """Hold an aggregate in a group until it is resumed or skipped; raises `NotFoundError` for an unknown group."""
        await self._check_group(group)
        return await self._commanding.park(group, aggregate, aggregate_id, command, await self._now_known())

    async def reset(self, group: str, command: Command) -> Applied | Pending:
        """Let a projection begin anew at the beginning of the log: its rows close, its `on_reset` hook is called (L6).

        Raises `NotFoundError` for an unknown group, `ConflictError` for no projection or when the hook failed.
        """
        await self._check_group(group)
        return await self._commanding.reset(group, command, await self._now_known())

    async def pause_subscription(
        self,
        name: str,
        command: Command,
        *,
        partition: str | None = None,
        pause: PauseReason = PauseReason.OPERATOR,
    ) -> PauseAnswer:
        """Have a subscription's whole group stand still, everywhere or in one partition, until this pause ends (H44).

        `name` is that of a subscription or of a group. Calls under way end. Raises `NotFoundError`, `ConflictError`.
        """
        return await self._pausing.pause(name, command, await self._now_known(), pause, partition)

    async def resume_subscription(
        self,
        name: str,
        command: Command,
        *,
        partition: str | None = None,
        pause: PauseReason = PauseReason.OPERATOR,
    ) -> PauseAnswer:
        """End one pause of a subscription's group; it goes on once no other is there."""
        return await self._pausing.resume(name, command, await self._now_known(), pause, partition)

    async def _check_group(self, group: str) -> None:
        groups = [seen.name for seen in await self._overview.groups()]
        if group not in groups:
            raise NotFoundError(
                f"there is no group {group!r}{nearest(group, groups)}; see `wow-ray subscriptions list`"
            )

    async def _now_known(self) -> Known:
        """Give the groups there are, and whose they are."""
        return replace(self._known or Known.of_store(await self._overview.groups()), context=self.context)

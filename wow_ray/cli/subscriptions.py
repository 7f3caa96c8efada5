"""`wow-ray subscriptions …`: how far each group of handlers has come, and having one stand still, go on, begin anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.given import Given
from wow_ray.cli.living import show_parts, state_cells, state_facts
from wow_ray.cli.looking import by_state
from wow_ray.cli.parked_shown import show_answer
from wow_ray.cli.shown import facts, harmless, length, moment, table, times
from wow_ray.ops import GroupView, Operations, PauseAnswer, PauseView
from wow_ray.ops.effective import SettingView
from wow_ray.ops.views import Applied, Pending, View
from wow_ray.policy.pauses import PauseReason

subscriptions = typer.Typer(
    help="The groups of handlers: list, show, settings, pause, resume, reset.",
    no_args_is_help=True,
)

HISTORY = 20
"""Pauses that `show` lists."""

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A subscription (Processor.handler), or a group, as `list` shows it.")
]
OfPartition = Annotated[
    str | None, typer.Option("--partition", help="Only in this partition, as `wow-ray status` shows it. Default: all.")
]
SetPause = Annotated[Literal["operator", "deploy", "restored"], typer.Option("--pause", help="Which pause to set.")]
EndedPause = Annotated[
    Literal["operator", "deploy", "restored", "mass_failure"],
    typer.Option("--pause", help="Which pause to end; the last is of one partition."),
]


@dataclass(frozen=True, slots=True)
class Groups(View):
    """All groups ever registered."""

    groups: tuple[GroupView, ...]


@dataclass(frozen=True, slots=True)
class Shown(View):
    """One group, and its last pauses, the newest first."""

    group: GroupView
    history: tuple[PauseView, ...]


def show_groups(found: Groups, page: Console) -> None:
    """Write one line for each group."""
    if not found.groups:
        page.print("nothing is registered; a program registers its handlers when it first runs")
        return
    table(
        page,
        ("GROUP", "STATE", "LIMIT", "RATE", "PAUSED", "LAG", "UNFINISHED", "OLDEST", "PARKED", "NOTE", "SUBSCRIPTIONS"),
        [
            (
                group.group,
                *state_cells(group.live),
                ", ".join(_in_short(pause) for pause in group.pauses),
                f"{group.lag:,}",
                f"{group.unfinished:,}",
                _oldest(group),
                f"{group.parked:,}{by_state(group.open_rows)}",
                _note(group),
                ", ".join(group.subscriptions),
            )
            for group in found.groups
        ],
    )


def show_group(found: Shown, page: Console) -> None:
    """Write everything about one group."""
    group = found.group
    facts(
        page,
        [
            ("group", group.group),
            ("handlers", ", ".join(group.subscriptions)),
            *state_facts(group.live),
            ("paused", "; ".join(map(_in_full, group.pauses)) or "no"),
            ("lag", times(group.lag, "event")),
            ("unfinished", times(group.unfinished, "event")),
            ("oldest", _oldest(group)),
            ("parked", f"{group.parked:,}{by_state(group.open_rows)}"),
            ("note", _note(group)),
        ],
    )
    show_parts(group.live, page)
    if found.history:
        page.print()
        table(
            page,
            ("PAUSED", "WHERE", "SINCE", "BY", "WHY", "ENDED", "BY", "WHY"),
            [
                (
                    pause.reason,
                    _where(pause.partition),
                    moment(pause.since),
                    pause.actor,
                    pause.text,
                    moment(pause.ended_at),
                    pause.ended_by,
                    pause.ended_text,
                )
                for pause in found.history
            ],
        )


@dataclass(frozen=True, slots=True)
class Effective(View):
    """What handlers run under, by their names; empty where only the store was asked."""

    settings: Mapping[str, tuple[SettingView, ...]]


def show_settings(found: Effective, page: Console) -> None:
    """Write one line for each setting of each handler."""
    rows = [(name, one.name, one.value, one.source) for name, all_ in found.settings.items() for one in all_]
    if rows:
        table(page, ("HANDLER", "SETTING", "VALUE", "FROM"), rows)
    else:
        page.print("not known here: give the app with --app, not its context alone")


def show_pause(answer: PauseAnswer, page: Console) -> None:
    """Write what became of a pause or a resume, and who stands still now."""
    what = f"{answer.verb.value.replace('_', ' of ', 1) if answer.changed else 'nothing changed'}"
    where = _where(answer.partition)
    page.print(harmless(f"done: {what}: {answer.reason} pause of {answer.group}, {where} ({answer.request_id})"))
    page.print(harmless(f"handlers: {', '.join(answer.handlers)}"))
    if not any(pause.stops for pause in answer.pauses):
        page.print("they go on")
    for pause in answer.pauses:
        page.print(harmless(f"{'they stand still' if pause.stops else 'noted'}: {_in_full(pause)}"))


@subscriptions.command("list")
@asks(show_groups)
async def list_(operations: Operations) -> Groups:
    """List every group: how far behind it is in each slot, what it has parked, and why it is paused."""
    return Groups(await operations.subscriptions())


@subscriptions.command("show")
@asks(show_group)
async def show(operations: Operations, name: Name) -> Shown:
    """Show one group, and who has paused and resumed it."""
    return Shown(await operations.subscription(name), await operations.pauses(name, HISTORY))


@subscriptions.command("settings")
@asks(show_settings)
async def settings(operations: Operations, name: Name) -> Effective:
    """Show what each handler of a group runs under, and where each setting comes from; takes --app."""
    group = await operations.subscription(name)
    return Effective({each: await operations.settings(each) for each in group.subscriptions})


@subscriptions.command("pause")
@asks(show_pause)
async def pause(
    operations: Operations,
    name: Name,
    given: Given,
    *,
    partition: OfPartition = None,
    which: SetPause = "operator",
) -> PauseAnswer:
    """Have a group stand still, through restarts and moves, until it is resumed; calls under way end."""
    command = given.command()
    return await operations.pause_subscription(name, command, partition=partition, pause=PauseReason(which))


@subscriptions.command("resume")
@asks(show_pause)
async def resume(
    operations: Operations,
    name: Name,
    given: Given,
    *,
    partition: OfPartition = None,
    which: EndedPause = "operator",
) -> PauseAnswer:
    """End one pause of a group; it goes on when there is no other."""
    command = given.command()
    return await operations.resume_subscription(name, command, partition=partition, pause=PauseReason(which))


@subscriptions.command("reset")
@asks(show_answer)
async def reset(
    operations: Operations,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The projection, as `subscriptions list` shows it.")],
    given: Given,
) -> Applied | Pending:
    """Let a projection begin anew at the beginning of the log; its ledger rows close, its on_reset hook is called."""
    return await operations.reset(group, given.command())


def _in_short(pause: PauseView) -> str:
    """Name a pause: why, where, since when."""
    where = "" if pause.partition is None else f" in {pause.partition}"
    return f"{pause.reason}{where} since {moment(pause.since)}"


def _in_full(pause: PauseView) -> str:
    """Name a pause, and say who set it and why."""
    return f"{_in_short(pause)}, by {pause.actor}: {pause.text}"


def _where(partition: str | None) -> str:
    """Write where a pause is."""
    return "everywhere" if partition is None else partition


def _oldest(group: GroupView) -> str:
    """Write what waits longest, nothing when nothing does."""
    return "" if group.oldest is None else f"{length(group.oldest.age)} ago, slot {group.oldest.slot}"


def _note(group: GroupView) -> str:
    """Write what is odd about a group."""
    return "retired" if group.retired else "not in this app" if group.missing else ""

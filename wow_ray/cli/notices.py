"""`wow-ray notices …`: what webhooks were told, what they were not and why; sent again, and tried out."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from wow_ray.cli.asking import asks
from wow_ray.cli.given import Given, RequestId, Who, command_of
from wow_ray.cli.shown import facts, harmless, moment, table, times
from wow_ray.ops import Operations
from wow_ray.ops.notice_views import DeliveryDetail, DeliveryPage, DeliveryView, NoticeAnswer
from wow_ray.ops.notifying import STATES, DeliveryQuery
from wow_ray.ports.notices import DeliveryState

notices = typer.Typer(help="Notices to webhooks: list, show, resend, test.", no_args_is_help=True)

TestWhy = Annotated[str, typer.Option("--reason", help="Why; kept as the audit.")]
DeliveryId = Annotated[str, typer.Argument(metavar="ID", help="The delivery, as `notices list` shows it.")]
WebhookName = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Its name in the settings.")]
WebhookFilter = Annotated[str | None, typer.Option("--webhook", help="Only those of this webhook.")]
StateFilter = Annotated[list[DeliveryState] | None, typer.Option("--state", help="Only this state; repeatable.")]
Before = Annotated[str | None, typer.Option("--before", help="Where the page before ended.")]
Limit = Annotated[int, typer.Option("--limit", help="Deliveries on a page.", min=1, max=1_000)]


def show_page(found: DeliveryPage, page: Console) -> None:
    """Write one line for each delivery, and how many there are."""
    if found.deliveries:
        table(
            page,
            ("DELIVERY", "WEBHOOK", "STATE", "ATTEMPTS", "MADE", "NOTICE", "ERROR"),
            [_line(each) for each in found.deliveries],
        )
    for webhook, states in found.counts.items():
        page.print(harmless(f"{webhook}: {', '.join(f'{count:,} {state}' for state, count in states.items())}"))
    if not found.deliveries:
        page.print("no delivery fits; webhooks are set up under `notices` in the settings")
    if found.next is not None:
        page.print(harmless(f"more: --before {found.next}"))


def show_delivery(found: DeliveryDetail, page: Console) -> None:
    """Write everything about one delivery."""
    each = found.delivery
    facts(
        page,
        [
            ("delivery", each.id),
            ("webhook", each.webhook),
            ("state", f"{each.state}, after {times(each.attempts, 'attempt')}"),
            ("tells of", f"{times(each.facts, 'fact')}: {', '.join(each.kinds)}"),
            ("notice", each.summary),
            ("made", moment(each.created_at)),
            ("last change", moment(each.updated_at)),
            ("next attempt", moment(each.next_at)),
            ("status", "" if each.status is None else str(each.status)),
            ("error", each.error),
            ("body", found.body),
        ],
    )


def show_answer(answer: NoticeAnswer, page: Console) -> None:
    """Write what became of a request."""
    page.print(harmless(f"stored: {answer.verb.replace('_', ' ')} ({answer.request_id})"))
    if answer.delivery is not None:
        page.print(harmless(f"see how it goes: wow-ray notices show {answer.delivery.id}"))


@notices.command("list")
@asks(show_page)
async def list_(
    operations: Operations,
    *,
    webhook: WebhookFilter = None,
    state: StateFilter = None,
    before: Before = None,
    limit: Limit = 100,
) -> DeliveryPage:
    """List deliveries, newest first, and count those that are kept."""
    states = STATES if state is None else frozenset(state)
    return await operations.notices.listed(DeliveryQuery(states, webhook, before, limit))


@notices.command("show")
@asks(show_delivery)
async def show(operations: Operations, delivery: DeliveryId) -> DeliveryDetail:
    """Show one delivery with what is sent."""
    return await operations.notices.shown(delivery)


@notices.command("resend")
@asks(show_answer)
async def resend(operations: Operations, delivery: DeliveryId, given: Given) -> NoticeAnswer:
    """Have a delivery that was sent or given up sent again, under its id."""
    return await operations.notices.resend(delivery, given.command())


@notices.command("test")
@asks(show_answer)
async def try_out(
    operations: Operations,
    webhook: WebhookName,
    *,
    reason: TestWhy = "a test",
    actor: Who = None,
    request_id: RequestId = None,
) -> NoticeAnswer:
    """Have a notice sent that only shows that notices arrive."""
    return await operations.notices.test(webhook, command_of(actor, reason, request_id, None))


def _line(each: DeliveryView) -> tuple[str, ...]:
    """Write a delivery in one line."""
    state = each.state if each.next_at is None else f"{each.state} until {moment(each.next_at)}"
    return each.id, each.webhook, state, str(each.attempts), moment(each.created_at), each.summary, each.error

"""Payloads are shown to operators only, and masked: by field, by the app's rule, whole where neither can tell (P4)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from tests.waiting import until
from wow_ray import Aggregate, App, DefinitionError, Durable, Event, on_event, retry
from wow_ray.ops import Known, Operations
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.ops.http import api
from wow_ray.ops.masking import Masked
from wow_ray.policy.masking import MASK, MOST_SHOWN, Masking
from wow_ray.settings import Settings
from wow_ray.settings.payloads import MaskingSettings, RedactionSettings
from wow_ray.testing import Running, Scenario

order = Aggregate("order")


@order.event("order_paid")
class Paid(BaseModel):
    """An order was paid."""

    buyer: str = "Ann"
    cardNumber: str = "4111111111111111"  # noqa: N815 - as others write it
    note: str = "see postgresql://app:hunter2@db/shop"


@dataclass
class Shop:
    """What was parked and called, and what operates it."""

    running: Running
    app: App
    row: str
    call: str

    def operations(self, settings: Settings | None = None, *, known: bool = True) -> Operations:
        """Open it; what is not `known` is the app."""
        spec = self.app.resolved(settings or Settings())
        return Operations(
            "shop",
            client=self.running.service.client,
            overview=self.running.memory.overview(),
            clock=self.running.clock,
            new_id=lambda: "r-1",
            known=Known.of_app(spec) if known else None,
        )

    async def body(self, settings: Settings | None = None) -> str | None:
        """Give what is shown of the event."""
        (event,) = await self.operations(settings).stream(self.row, payloads=True)
        return event.payload


@asynccontextmanager
async def a_shop() -> AsyncIterator[Shop]:
    """An app with one parked order and one finished call."""
    app = App("shop")

    @app.reactor(start="beginning")
    @retry(max_attempts=1)
    class Notifier:
        @on_event
        async def on_paid(self, event: Event[Paid]) -> None:
            raise ValueError(event.ref.id)

    @app.retryable(durable=Durable(), raise_error=True, name="refund")
    async def refund(buyer: str, api_key: str) -> dict[str, str]:
        return {"buyer": buyer, "apiKey": api_key}

    async with Scenario(app) as running:
        await running.store.append(order("o-1"), [Paid()], expected_version=0)
        call = await refund.options(headers={"Cookie": "hunter4", "trace": "t"}).submit("Ann", "hunter3")
        await running.advance("1s")
        (row,) = await running.parked()
        yield Shop(running, app, row.id, call.id)


CASES = [
    ('{"password": "x", "n": 1}', {"password": MASK, "n": 1}),
    ('{"apiKey": 1, "API-Key": 2, "api_key": 3}', {"apiKey": MASK, "API-Key": MASK, "api_key": MASK}),
    ('{"a": {"credentials": {"user": "u"}}}', {"a": {"credentials": MASK}}),
    ('[{"name": "Authorization", "value": "v"}]', [{"name": "Authorization", "value": MASK}]),
    ('{"headers": [["Cookie", "v"], ["Accept", "a"]]}', {"headers": [["Cookie", MASK], ["Accept", "a"]]}),
    ('{"body": "{\\"token\\": \\"v\\", \\"n\\": 1}"}', {"body": '{"token": "***", "n": 1}'}),
    ('{"body": "{\\"token\\": \\"v"}', {"body": MASK}),
    ('{"url": "redis://:v@host/0"}', {"url": "redis://:***@host/0"}),
    ('{"text": "a \\u0000 b"}', {"text": "a ␀ b"}),
    ('{"passenger": "Ann", "spin": 1, "company": "c"}', {"passenger": "Ann", "spin": 1, "company": "c"}),
    ('"password=hunter2"', "password=***"),
]


@pytest.mark.parametrize(("payload", "shown"), CASES)
def test_secret_fields_go_whole_and_texts_are_redacted(payload: str, shown: object) -> None:
    """Also where a field is written out as a pair, and in JSON within a text; harmless names stay."""
    assert json.loads(Masking().shown("order_paid", payload)) == shown


@pytest.mark.parametrize(
    "payload", ["", "{", "no JSON", '{"n": ' + "9" * 5_000 + "}", "[" * 50_000, '[{"a":' * 200 + "1"]
)
def test_what_cannot_be_read_is_masked_whole(payload: str) -> None:
    """Whatever is wrong with it."""
    assert Masking().shown("order_paid", payload) == MASK


def test_what_is_nested_or_long_beyond_reading_is_masked_whole() -> None:
    """A limit of depth and of length; what is merely long is cut, after it was masked."""
    assert Masking().shown("x", "[" * 150 + '"deep"' + "]" * 150) == MASK
    assert Masking().shown("x", json.dumps("y" * 1_200_000)) == MASK
    cut = Masking().shown("x", json.dumps({"password": "hunter2", "text": "y" * 9_000}))
    assert cut.startswith('{"password": "***"')
    assert len(cut) < MOST_SHOWN + 50


def test_settings_name_more_fields_and_whole_payloads() -> None:
    """Patterns of fields in any spelling; names of events and functions, with their results and headers."""
    masking = Masking(("*_iban_code", "Buyer?"), ("refund", "medical_*"))
    assert json.loads(masking.shown("x", '{"senderIbanCode": 1, "buyer1": 2, "buyer": 3}')) == {
        "senderIbanCode": MASK,
        "buyer1": MASK,
        "buyer": 3,
    }
    for name in ("refund", "refund:result", "refund:headers", "medical_note_taken"):
        assert masking.shown(name, '{"n": 1}') == MASK
    assert masking.shown("refunded", '{"n": 1}') == '{"n": 1}'


async def test_operators_are_shown_masked_payloads_everywhere() -> None:
    """Events and calls: neither the card nor a password in an address, nor a function's secrets, come out."""
    async with a_shop() as shop:
        assert json.loads(await shop.body() or "") == {
            "buyer": "Ann",
            "cardNumber": MASK,
            "note": "see postgresql://app:***@db/shop",
        }
        found = await shop.operations().calls.shown(shop.call)
        assert json.loads(found.payload or "") == {"buyer": "Ann", "api_key": MASK}
        assert json.loads(found.result or "") == {"buyer": "Ann", "apiKey": MASK}
        assert found.headers == {"Cookie": MASK, "trace": "t"}


async def test_the_settings_rule_is_that_of_the_operators_program() -> None:
    """`masking.fields`, `masking.whole`, and the keys that texts are searched for (`redaction.keys`)."""
    async with a_shop() as shop:
        fields = Settings(masking=MaskingSettings(fields=("note",)), redaction=RedactionSettings(keys=("buyer",)))
        assert json.loads(await shop.body(fields) or "") == {"buyer": MASK, "cardNumber": MASK, "note": MASK}
        assert await shop.body(Settings(masking=MaskingSettings(whole=("order_*",)))) == MASK


async def test_where_the_app_is_not_known_nothing_is_shown() -> None:
    """With `--context` alone nobody knows the app's rule."""
    async with a_shop() as shop:
        operations = shop.operations(known=False)
        (event,) = await operations.stream(shop.row, payloads=True)
        found = await operations.calls.shown(shop.call)
        assert (event.payload, found.payload, found.result) == (MASK, MASK, MASK)
        assert found.headers == {MASK: MASK}


async def test_the_apps_own_rule_is_asked_first_and_never_believed_about_secrets() -> None:
    """It sees the payload by name; what it gives is masked by fields all the same."""
    async with a_shop() as shop:
        names = []

        @shop.app.masker
        def without_names(name: str, payload: Any) -> Any:  # noqa: ANN401 - JSON
            names.append(name)
            if name == "order_paid":
                payload |= {"buyer": payload["buyer"][0], "password": "hunter5"}
            return payload

        assert json.loads(await shop.body() or "")["buyer"] == "A"
        assert "hunter" not in (await shop.body() or "")
        await shop.operations().calls.shown(shop.call)
        assert {"order_paid", "refund", "refund:result", "refund:headers"} == set(names)


def raising(error: BaseException) -> Callable[[str, Any], Any]:
    """Give a rule that raises."""

    def mask(name: str, payload: Any) -> Any:  # noqa: ANN401, ARG001 - JSON
        raise error

    return mask


@pytest.mark.parametrize("given", [object(), {"n": {1, 2}}, ("x", object())])
async def test_what_a_rule_cannot_tell_is_masked_whole(given: object) -> None:
    """It raises whatever it likes, or gives what is no JSON."""
    async with a_shop() as shop:
        shop.app.masker(lambda _name, _payload: given)
        assert await shop.body() == MASK
    for error in (KeyError("missing"), SystemExit(1), KeyboardInterrupt()):
        async with a_shop() as shop:
            shop.app.masker(raising(error))
            assert await shop.body() == MASK


async def test_a_rule_that_hangs_masks_whole_and_keeps_nobody_waiting_twice() -> None:
    """A second for all, by the clock; while it hangs it is not asked again; once it is back it is."""
    async with a_shop() as shop:
        let_go, begun = threading.Event(), []

        @shop.app.masker
        def hangs(name: str, payload: Any) -> Any:  # noqa: ANN401 - JSON
            begun.append(name)
            let_go.wait(20)
            return payload

        operations = shop.operations()
        try:
            asked = asyncio.ensure_future(operations.stream(shop.row, payloads=True))
            await until(lambda: bool(begun), "the rule is asked")
            await shop.running.clock.advance(1.0)
            assert [event.payload for event in await asked] == [MASK]
            assert [event.payload for event in await operations.stream(shop.row, payloads=True)] == [MASK]
            assert begun == ["order_paid"]
        finally:
            let_go.set()


async def test_what_is_long_is_masked_beside_the_loop() -> None:
    """Some megabytes keep nobody waiting, and come out as short ones do."""
    async with a_shop() as shop:
        masked = Masked(Masking(), shop.running.clock)
        texts = [("order_paid", json.dumps({"pin": 1, "text": "x" * 90_000})) for _ in range(20)]
        shown = await masked.of(texts)
        assert len(shown) == 20
        assert all(text.startswith('{"pin": "***", "text": "x') and len(text) < 5_000 for text in shown)


def test_a_masker_is_checked_where_it_is_declared() -> None:
    """It is called at once, with a name and a payload."""
    app = App("shop")

    async def waits(name: str, payload: Any) -> Any: ...  # noqa: ANN401 - JSON

    for wrong in (lambda payload: payload, "no function", waits):
        with pytest.raises(DefinitionError, match="WOW-MASKER"):
            app.masker(wrong)  # type: ignore[type-var] # what is to be refused


@pytest.mark.parametrize(("role", "shows"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
async def test_payloads_are_for_operators(role: Role, shows: bool) -> None:  # noqa: FBT001 - what is to be told
    """P4: over HTTP and in the console, of events and of calls."""
    token, holder = made_token("vic", role)
    async with a_shop() as shop:

        @asynccontextmanager
        async def opened() -> AsyncIterator[Operations]:
            yield shop.operations()

        access = Access(TokenSource(None, holder.line()), shop.running.clock)
        headers = {"Authorization": f"Bearer {token}"}
        transport = httpx.ASGITransport(api(opened, access))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as http:
            (event,) = (await http.get(f"/api/v1/parked/{shop.row}/events")).json()["events"]
            assert (event["type"], event["payload"] is not None) == ("order_paid", shows)
            for page in (f"/parked/{shop.row}", f"/calls/{shop.call}", f"/api/v1/calls/{shop.call}"):
                text = (await http.get(page)).text
                assert ("Ann" in text, "hunter" in text, "4111" in text) == (shows, False, False), page

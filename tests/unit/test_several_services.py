"""Several services on one console: each by itself, at addresses of its own, also while the store of one is away."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from fastapi import FastAPI

from tests.unit.ops_window import GROUP, Carrier, is_problem, made_app, order
from tests.unit.ops_window import Placed as OrderPlaced
from tests.unit.test_console import Read
from wow_ray.errors import StoreUnavailableError
from wow_ray.ops import Operations
from wow_ray.ops.access import Access, Role, TokenSource, made_token
from wow_ray.ops.http import api
from wow_ray.ops.http.services import told as all_told
from wow_ray.ops.http.several import Service, Several
from wow_ray.testing import Scenario
from wow_ray.testing.clock import VirtualClock, at_rest
from wow_ray.testing.scenario import Running

BILLING = "/services/billing"
SECRET = "hunter2hunter2"  # noqa: S105 - to look for
PAGES = (
    *("/", "/parked", "/parked?view=groups", "/subscriptions", f"/subscriptions/{GROUP}", "/partitions", "/audit"),
    *("/calls", "/notices", "/docs", "/help", "/nowhere"),
)


@dataclass
class Shop:
    """One service as it runs: its app, its carrier, how its store answers."""

    running: Running
    carrier: Carrier
    away: Exception | None = None
    hangs: bool = False
    opened: int = 0

    async def park(self, *ids: str) -> None:
        """Have aggregates parked."""
        self.carrier.broken |= set(ids)
        for identity in ids:
            await self.running.store.append(order(identity), [OrderPlaced()], expected_version=None)
        await self.running.advance("1s")

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Operations]:
        """Open its operations; each opening numbers its requests anew, as each service does."""
        if self.away is not None:
            raise self.away
        if self.hangs:
            await asyncio.Event().wait()
        self.opened += 1
        ids = itertools.count(1)
        yield Operations(
            self.running.service.spec.context,
            client=self.running.memory.client_stores(),
            overview=self.running.memory.overview(),
            clock=self.running.clock,
            new_id=lambda: f"r-{next(ids)}",
        )


@dataclass
class Street:
    """Two services on one console."""

    shop: Shop
    billing: Shop
    app: FastAPI
    client: httpx.AsyncClient
    clock: VirtualClock

    async def seen(self, path: str, **headers: str) -> httpx.Response:
        """Open a page."""
        answer = await self.client.get(path, headers=headers)
        assert answer.status_code == 200, (path, answer.text)
        return answer

    async def services(self, **headers: str) -> Mapping[str, Mapping[str, object]]:
        """List the services by name, as of now."""
        await self.clock.advance(2.0)
        return {each["service"]: each for each in (await self.seen("/api/v1/services", **headers)).json()["services"]}

    async def post(self, path: str, data: Mapping[str, str]) -> httpx.Response:
        """Send a form and let six seconds pass in both services."""
        asked = asyncio.ensure_future(self.client.post(path, data=data))
        await at_rest()
        await self.shop.running.advance("6s")
        await self.billing.running.advance("6s")
        return await asked


@asynccontextmanager
async def a_street(access: Access | None = None, others: Access | None = None) -> AsyncIterator[Street]:
    """Run two apps of two contexts, and one console for both."""
    access = access or Access()
    async with AsyncExitStack() as stack:
        shops = []
        for context in ("shop", "billing"):
            carrier = Carrier()
            running = await stack.enter_async_context(Scenario(made_app(context), {Carrier: carrier}))
            shops.append(Shop(running, carrier))
        clock = VirtualClock()
        beside = Service("billing", shops[1], others or access.of_service("billing"))
        app = api(shops[0], access, Several("shop", (beside,), clock))
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield Street(shops[0], shops[1], app, client, clock)


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    """The two, nobody asked who they are."""
    async with a_street() as opened:
        yield opened


async def test_each_service_is_at_an_address_of_its_own_and_the_home_where_it_always_was(street: Street) -> None:
    """The address is the state: what one has parked is found under it, and under no other."""
    await street.shop.park("o-1")
    await street.billing.park("b-1", "b-2")
    found = {}
    for at in ("", BILLING):
        rows = (await street.seen(f"{at}/api/v1/parked")).json()["rows"]
        found[at] = {(row["context"], row["aggregate_id"]) for row in rows}
        assert (await street.seen(f"{at}/api/v1/overview")).json()["context"] == ("billing" if at else "shop")
        page = await street.seen(f"{at}/parked")
        assert re.search(rf'<summary data-key="v"[^>]*>{"billing" if at else "shop"}</summary>', page.text)
        assert page.headers["x-wow-ray-service"] == ("billing" if at else "shop")
    assert found == {"": {("shop", "o-1")}, BILLING: {("billing", "b-1"), ("billing", "b-2")}}
    moved = await street.client.get("/services/shop/parked?state=parked&text=a%20b")
    assert (moved.status_code, moved.headers["location"]) == (308, "/parked?state=parked&text=a%20b")
    assert (await street.client.get("/services/nobody/parked")).status_code == 404
    is_problem(await street.client.get(f"{BILLING}/api/v1/nothing"), 404, "WOW-REQUEST")


async def test_no_address_on_a_page_of_a_service_leads_to_another_one(street: Street) -> None:
    """Every link, form and listening of every page stays under its service, but for the list of services itself."""
    await street.billing.park("b-1")
    row = (await street.seen(f"{BILLING}/api/v1/parked")).json()["rows"][0]["id"]
    for path in (*PAGES, f"/parked/{row}", "/parked?text=carrier"):
        text = (await street.client.get(f"{BILLING}{path}")).text
        listed = re.search(r'<details class="places">.*?</details>', text, re.DOTALL)
        rest = text if listed is None else text.replace(listed[0], "")
        addresses = [
            value
            for _, attributes in Read(rest).elements
            for name, value in attributes.items()
            if name in {"href", "action", "formaction", "data-live-from"}
        ]
        outside = [each for each in addresses if not each.startswith((f"{BILLING}/", "/static/", "#", "?"))]
        assert outside == [], path
        assert (path == "/nowhere") == (listed is None)
        if listed is not None:
            links = [each["href"] for tag, each in Read(listed[0]).elements if tag == "a"]
            here = path.partition("?")[0] if path.count("/") == 1 else "/"
            assert links == [here, f"{BILLING}{here}", "/services"]


async def test_where_there_is_one_service_there_is_nothing_to_choose() -> None:
    """The pages of a single service are as they were."""
    async with a_street() as street:
        transport = httpx.ASGITransport(api(street.shop))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert 'class="places"' not in (await client.get("/")).text
            assert (await client.get("/services")).status_code == 404


async def test_a_command_goes_to_the_store_of_its_service_and_stands_in_its_audit_alone(street: Street) -> None:
    """Forms and API alike; the same idempotency key is another request in another service."""
    await street.shop.park("o-1")
    await street.billing.park("o-1")
    street.billing.carrier.broken.clear()
    row = (await street.seen(f"{BILLING}/api/v1/parked")).json()["rows"][0]
    page = (await street.seen(f"{BILLING}/parked/{row['id']}")).text
    fields = Read(page).fields(f"{BILLING}/parked/{row['id']}/resume")
    answer = await street.post(f"{BILLING}/parked/{row['id']}/resume", {**fields, "reason": "the carrier is back"})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{BILLING}/parked/{row['id']}?said=")
    assert (await street.seen(f"{BILLING}/api/v1/parked/count")).json()["rows"] == 0
    assert (await street.seen("/api/v1/parked/count")).json()["rows"] == 1
    assert [a["reason"] for a in (await street.seen(f"{BILLING}/api/v1/audit")).json()["actions"]] == [
        "the carrier is back"
    ]
    assert (await street.seen("/api/v1/audit")).json()["actions"] == []
    key = {"Idempotency-Key": "one-key"}
    for at in ("", BILLING):
        path = f"{at}/api/v1/subscriptions/{GROUP}/pause"
        assert (await street.client.post(path, json={"reason": "look"}, headers=key)).status_code == 200
        assert (await street.client.get(f"{at}/api/v1/subscriptions/{GROUP}/pauses")).json()["pauses"][0]["text"]


async def test_a_form_of_one_service_is_none_of_another(street: Street) -> None:
    """S109 between neighbours: one session, but the word of a form is that of one service."""
    await street.shop.park("o-1")
    await street.billing.park("o-1")
    row = (await street.seen("/api/v1/parked")).json()["rows"][0]["id"]
    other = (await street.seen(f"{BILLING}/api/v1/parked")).json()["rows"][0]["id"]
    fields = Read((await street.seen(f"/parked/{row}")).text).fields(f"/parked/{row}/resume")
    answer = await street.post(f"{BILLING}/parked/{other}/resume", {**fields, "reason": "x"})
    assert answer.status_code == 403
    assert "not of this session" in answer.text
    assert (await street.seen(f"{BILLING}/api/v1/audit")).json()["actions"] == []


async def test_a_batch_is_known_to_its_service_alone(street: Street) -> None:
    """A preview of one is not there in the other."""
    await street.billing.park("b-1", "b-2")
    frozen = (await street.client.post(f"{BILLING}/api/v1/parked/bulk/preview", json={"filter": {}})).json()
    assert len(frozen["rows"]) == 2
    assert (await street.client.get(f"{BILLING}/api/v1/parked/bulk/{frozen['id']}")).status_code == 200
    assert (await street.client.get(f"/api/v1/parked/bulk/{frozen['id']}")).status_code == 404


async def test_metrics_and_probes_are_those_of_each(street: Street) -> None:
    """Each look at a store is kept for its own service."""
    for at, name in (("", "shop"), (BILLING, "billing"), ("", "shop")):
        assert f'wow_ray_ready{{context="{name}"}} 1.0' in (await street.seen(f"{at}/metrics")).text
        assert (await street.seen(f"{at}/readyz")).json()["ready"]
    assert (await street.seen(f"{BILLING}/openapi.json")).json()["servers"] == [{"url": BILLING}]
    assert "/api/v1/services" not in (await street.seen(f"{BILLING}/openapi.json")).json()["paths"]


async def test_one_that_is_away_is_shown_so_with_why_and_the_others_answer(street: Street) -> None:
    """H60 for several: numbers of those that are there, the reason of the other, and no secret of its address."""
    await street.shop.park("o-1", "o-2")
    first = await street.services()
    assert [first[name]["state"] for name in ("shop", "billing")] == ["running", "running"]
    street.billing.away = StoreUnavailableError(f"no way to postgresql://wow:{SECRET}@db.example/billing")
    await street.app.state.directory.lookouts[BILLING]._lost()  # noqa: SLF001 - as when its connection broke
    now = await street.services()
    assert (now["shop"]["parked"], now["shop"]["at"], now["billing"]["state"]) == (2, "", "away")
    assert "no way to postgresql://wow:***@db.example/billing" in str(now["billing"]["why"])
    assert now["billing"]["parked"] is None
    assert now["billing"]["seen_at"] is not None
    text = (await street.seen("/services")).text
    for said in ("billing: away: it cannot be looked at", "2 aggregates parked", 'href="/parked', "ValueError"):
        assert said in text
    assert SECRET not in text
    assert SECRET not in str(now)
    street.billing.away = None
    assert (await street.services())["billing"]["state"] == "running"


async def test_the_page_over_all_services_needs_not_even_the_store_of_the_home(street: Street) -> None:
    """The home is a service like any other there."""
    await street.billing.park("b-1")
    street.shop.away = StoreUnavailableError("the database shuts down")
    assert (await street.services())["shop"]["state"] == "away"
    text = (await street.seen("/services")).text
    assert "shop: away: it cannot be looked at" in text
    assert f'href="{BILLING}/parked?state=parked&amp;view=groups"' in text
    assert "no carrier for b-1" in text
    assert (await street.client.get("/parked")).status_code == 503


async def test_who_looks_waits_for_a_service_that_hangs_two_seconds_and_no_longer(street: Street) -> None:
    """Many ask, one look is under way."""
    street.billing.hangs = True
    before = asyncio.get_running_loop().time()
    many = await asyncio.gather(*(street.seen("/api/v1/services") for _ in range(20)))
    assert asyncio.get_running_loop().time() - before < 5
    for answer in many:
        states = {each["service"]: (each["state"], each["why"]) for each in answer.json()["services"]}
        assert states["shop"][0] == "running"
        assert states["billing"] == ("away", "it has not answered for 2 s")


async def test_pages_over_all_services_hear_of_a_change_in_any(street: Street) -> None:
    """SSE: the overview's own events, and those of one service which tell nothing of another."""
    told = street.app.state.directory
    lookouts = [told.lookouts[""], told.lookouts[BILLING]]
    heard = all_told(lookouts, street.clock, None)
    assert isinstance(heard, AsyncGenerator)
    assert await anext(heard) == "retry: 2000\n\n"
    assert "event: changed" in await anext(heard)
    await street.billing.park("b-1")
    following = asyncio.ensure_future(anext(heard))
    await at_rest()
    for _ in range(3):
        if not following.done():
            await street.clock.advance(1.0)
            await at_rest()
    assert "event: changed" in await following
    await heard.aclose()


async def test_people_of_one_service_are_strangers_in_one_with_tokens_of_its_own() -> None:
    """Rights are each service's: what is not open to who asks is not shown on the list either."""
    tokens = {name: made_token(name, Role.ADMIN) for name in ("ann", "bob")}
    books = {name: TokenSource(None, holder.line()) for name, (_, holder) in tokens.items()}
    bearer = {name: {"Authorization": f"Bearer {token}"} for name, (token, _) in tokens.items()}
    clock = VirtualClock()
    others = Access(books["bob"], clock, cookie="wow_ray_session_billing")
    async with a_street(Access(books["ann"], clock), others) as street:
        for _ in range(8):  # to be listed without is no failure to sign in
            assert list(await street.services(**bearer["ann"])) == ["shop"]
        assert "billing" not in (await street.seen("/services", **bearer["ann"])).text
        is_problem(await street.client.get(f"{BILLING}/api/v1/parked", headers=bearer["ann"]), 401, "WOW-TOKEN")
        is_problem(await street.client.get("/api/v1/services", headers=bearer["bob"]), 401, "WOW-TOKEN")
        await street.seen(f"{BILLING}/api/v1/parked", **bearer["bob"])
        assert 'class="places"' not in (await street.seen(f"{BILLING}/", **bearer["bob"])).text

        asked = await street.client.get(f"{BILLING}/parked?state=parked")
        assert asked.headers["location"] == f"{BILLING}/login?next=%2Fparked%3Fstate%3Dparked"
        form = {"token": tokens["bob"][0], "next": "/parked?state=parked"}
        signed = await street.client.post(f"{BILLING}/login", data=form)
        assert signed.headers["location"] == f"{BILLING}/parked?state=parked"
        assert signed.headers["set-cookie"].startswith("wow_ray_session_billing=")
        assert (await street.client.get(f"{BILLING}/parked")).status_code == 200
        assert (await street.client.get("/parked")).status_code == 303
        await street.client.post("/login", data={"token": tokens["ann"][0]})
        both = (await street.seen("/")).text
        assert f'href="{BILLING}/"' in both
        assert list(await street.services()) == ["shop", "billing"]


async def test_one_sign_in_serves_services_with_the_same_people() -> None:
    """A service without tokens of its own lets in whom the home lets in, never anybody else."""
    token, holder = made_token("ann", Role.VIEWER)
    async with a_street(Access(TokenSource(None, holder.line()), VirtualClock())) as street:
        assert (await street.client.get(f"{BILLING}/parked")).status_code == 303
        await street.client.post("/login", data={"token": token})
        page = (await street.seen(f"{BILLING}/parked")).text
        assert "ann, viewer" in page
        word = re.search(r'data-word="(\w+)"', page)
        assert word is not None
        home = re.search(r'data-word="(\w+)"', (await street.seen("/")).text)
        assert home is not None
        assert word[1] != home[1]
        refused = await street.client.post(f"{BILLING}/subscriptions/{GROUP}/pause", data={"csrf": word[1]})
        assert refused.status_code == 403

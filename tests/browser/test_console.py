"""An operator at three in the morning, in a real browser, on a real store: finds, reads, acts, sees it recover."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from playwright.async_api import Browser, Page, expect
from playwright.async_api import Error as PlaywrightError

from tests.browser.audit import audited
from tests.browser.world import World, a_browser, a_world, needs_chromium, settings_in, trouble
from tests.waiting import until
from wow_ray.ops import ParkedQuery
from wow_ray.ops.access import Role, made_token

pytestmark = needs_chromium

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")


@pytest.fixture
async def world(postgres_dsn: str, schema: str) -> AsyncIterator[World]:
    """The shop and its console, nobody asked who they are."""
    async with a_world(postgres_dsn, settings_in(schema)) as running:
        yield running


@asynccontextmanager
async def a_page(browser: Browser, world: World, **options: object) -> AsyncIterator[Page]:
    """Open a page that may not complain: no error of a script, nothing refused by the policy."""
    complaints: list[str] = []
    context = await browser.new_context(base_url=world.address, **options)  # type: ignore[arg-type] # its own options
    page = await context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("request", lambda asked: None if asked.url.startswith(world.address) else complaints.append(asked.url))
    try:
        yield page
    finally:
        await context.close()
    assert complaints == []


async def test_an_operator_finds_a_group_of_failures_resumes_it_and_sees_it_recover(world: World) -> None:
    """Issue 7: overview, group, one row and why, resume of all, one skipped with a reason; nothing was reloaded."""
    await trouble(world)
    async with a_browser() as browser, a_page(browser, world) as page:
        await page.goto("/")
        await page.get_by_role("link", name="All groups of errors").click()
        await expect(page.get_by_role("cell", name="shop.CarrierRefusedError 422")).to_be_visible()
        await page.get_by_role("link", name="Show 7 aggregates stopped by shop.CarrierRefusedError").click()
        await expect(page.locator(".rows tbody tr")).to_have_count(7)
        await page.get_by_role("link", name="order/o-1017").click()
        await expect(page.get_by_text("422 from carrier.example: no such postcode").first).to_be_visible()
        await expect(page.locator(".stream .stopped")).to_contain_text("stopped here")
        await expect(page.get_by_text("3 events, versions 1 to 4")).to_be_visible()
        await page.go_back()

        world.outside.refused.clear()
        await page.get_by_role("button", name="Resume them…").click()
        await expect(page.get_by_role("heading", name="Resume 7 aggregates")).to_be_visible()
        await page.get_by_label("Reason").fill("the carrier knows the postcodes again")
        await page.get_by_role("button", name="Resume these 7").click()
        await expect(page.locator("#standing .pill")).to_contain_text("done", timeout=20_000)
        await expect(page.locator(".tiles div", has_text="Recovered").locator("dd")).to_have_text("7")
        assert [version for who, version in world.outside.told if who == "o-1017"] == [1, 3, 4]

        await page.goto("/parked?state=exhausted")
        await page.get_by_role("link", name="order/o-1009").click()
        await page.get_by_text("Skip: events that will never be handled here").click()
        await page.locator(".danger").get_by_label("Reason").fill("a test order")
        await page.get_by_role("button", name="Skip the stopped event only").click()
        await expect(page.locator("#said")).to_contain_text("Passed over 1 event, versions 2 to 2")
        await expect(page.locator("#standing .pill")).to_contain_text("skipped", timeout=15_000)

        await page.goto("/audit")
        await expect(page.get_by_text("a test order")).to_be_visible()
        await expect(page.get_by_text("the carrier knows the postcodes again")).to_have_count(7)


async def test_a_page_is_fresh_without_being_opened_again_and_says_when_it_is_not(world: World) -> None:
    """Issue 7.2: what is parked meanwhile appears; a server that is away freezes what could be asked."""
    async with a_browser() as browser, a_page(browser, world) as page:
        await page.goto("/")
        await expect(page.get_by_text("Nothing: every slot has an owner")).to_be_visible()
        await trouble(world)
        await expect(page.get_by_text("2 aggregates for a person to decide")).to_be_visible(timeout=15_000)
        await page.goto("/parked?state=exhausted")
        await page.get_by_role("link", name="order/o-1009").click()
        # What somebody has written is not taken away by news.
        await page.get_by_label("Reason").first.fill("half a sen")
        await world.ship("o-1009")
        await page.wait_for_timeout(2_500)
        await expect(page.get_by_label("Reason").first).to_have_value("half a sen")
        await page.evaluate("Date.now = ((real) => () => real() + 20000)(Date.now)")
        await expect(page.locator("#stale")).to_contain_text("nothing can be asked", timeout=5_000)
        await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_disabled()
        await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_enabled(timeout=15_000)


async def test_everything_is_reached_by_the_keys(world: World) -> None:
    """The documented path: parked, next row, open, reason, Enter; the outcome has the focus."""
    await trouble(world)
    world.outside.refused.clear()
    async with a_browser() as browser, a_page(browser, world) as page:
        await page.goto("/")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.keyboard.press("p")
        await page.wait_for_url("**/parked")
        await page.keyboard.press("/")
        await expect(page.get_by_label("Text in the error")).to_be_focused()
        await page.keyboard.press("Escape")
        await page.keyboard.press("j")
        await expect(page.locator("main tbody tr a").first).to_be_focused()
        await page.keyboard.press("j")
        await expect(page.locator("main tbody tr").nth(1).locator("a").first).to_be_focused()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/parked/*")
        await page.keyboard.press("r")
        await expect(page.get_by_label("Reason").first).to_be_focused()
        await page.keyboard.type("p is no shortcut here")
        await page.keyboard.press("Enter")
        await expect(page.locator("#said")).to_be_focused()
        await expect(page.locator("#said")).to_contain_text("p is no shortcut here")
        await page.wait_for_load_state("load")
        for _ in range(5):  # a page that is just being renewed hears no key; a person presses it again
            await page.keyboard.press("?")
            with suppress(PlaywrightError):
                await page.wait_for_url("**/help", timeout=3_000)
                break
        await expect(page).to_have_url(re.compile(r"/help$"))


async def test_without_script_it_shows_and_asks_all_the_same(world: World) -> None:
    """Reading and acting need no script."""
    await trouble(world)
    world.outside.refused.clear()
    async with a_browser() as browser, a_page(browser, world, java_script_enabled=False) as page:
        await page.goto("/parked?text=postcode")
        await page.get_by_role("link", name="order/o-1023").click()
        await page.get_by_label("Reason").first.fill("it is back")
        await page.get_by_role("button", name="Resume", exact=True).click()
        assert "Resume: done" in await page.locator("#said").inner_text()
        await until(lambda: ("o-1023", 1) in world.outside.told, "the call")


async def test_a_hostile_text_does_nothing_in_a_browser(world: World) -> None:
    """It is shown; the policy has nothing to refuse, and no request leaves for elsewhere."""
    world.outside.refused.add("o-1")
    hostile = "<img src=//evil.example onerror=alert(1)><script>document.title='owned'</script>\u202etxt.exe\x00"
    world.outside.texts["o-1"] = hostile
    await world.pay("o-1")
    await world.parked(1)
    async with a_browser() as browser, a_page(browser, world) as page:
        for path in ("/", "/parked", "/parked?view=groups"):
            await page.goto(path)
            await expect(page.get_by_text("<script>").first).to_be_visible()
        await page.goto("/parked")
        await page.get_by_role("link", name="order/o-1").click()
        await expect(page.locator("pre.message")).to_contain_text("⟨U+202E⟩")
        assert "owned" not in await page.title()


async def test_somebody_signs_in_with_a_token(postgres_dsn: str, schema: str) -> None:
    """A viewer looks and is offered nothing to do; a wrong token is told as such; signing out ends it."""
    token, holder = made_token("vic", Role.VIEWER)
    async with (
        a_world(postgres_dsn, settings_in(schema, tokens=holder.line())) as world,
        a_browser() as browser,
    ):
        context = await browser.new_context(base_url=world.address)
        page = await context.new_page()
        await page.goto("/subscriptions/Sales")
        await page.get_by_label("Token").fill("wow_wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("There is no such token")
        await page.get_by_label("Token").fill(token)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/subscriptions/Sales")
        await expect(page.get_by_text("Pausing and resuming takes an operator")).to_be_visible()
        await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        (cookie,) = await context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        await page.get_by_role("button", name="Sign out").click()
        await page.wait_for_url("**/login")
        assert await context.cookies() == []
        await context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
async def test_every_page_is_for_everybody(world: World, width: int, scheme: str) -> None:
    """Names, labels, order of headings, contrast of 4.5:1, targets large enough, and nothing beside the page."""
    await trouble(world)
    (row, *_) = (await world.operations.parked(ParkedQuery())).rows
    pages = ["/", "/parked", "/parked?view=groups&text=x", f"/parked/{row.id}", "/subscriptions", "/partitions"]
    pages += ["/subscriptions/Shipping.on_order_paid", "/audit", "/help", "/docs", "/parked/none"]
    async with a_browser() as browser:
        context = await browser.new_context(
            base_url=world.address,
            viewport={"width": width, "height": 844},
            color_scheme=scheme,  # type: ignore[arg-type] # one of two
        )
        page = await context.new_page()
        found = {}
        for path in pages:
            await page.goto(path)
            if complaints := await audited(page):
                found[path] = complaints
        await context.close()
    assert found == {}

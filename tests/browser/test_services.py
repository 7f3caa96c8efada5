"""Several services on one console, in a real browser: chosen from a list, and seen together while one is away."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.browser.audit import audited
from tests.browser.test_console import SCHEMES, WIDTHS, a_page
from tests.browser.world import World, a_browser, a_world, app, needs_chromium, settings_in, trouble
from wow_ray.cluster import Database, migrated
from wow_ray.settings import Settings

pytestmark = needs_chromium


@pytest.fixture
async def world(postgres_dsn: str, schema: str) -> AsyncIterator[World]:
    """The shop with its console; beside it a service that does not run, and one whose database is away."""
    services = {
        "billing": {"postgres_dsn": postgres_dsn, "postgres_schema": f"{schema}_b"},
        "gone": {"postgres_dsn": "postgresql://wow:hunter2@127.0.0.1:1/none"},
    }
    settings = settings_in(schema, services=services)
    await migrated(Database(postgres_dsn, "billing", f"{schema}_b"), Settings(slots=8))
    async with a_world(postgres_dsn, settings) as running:
        yield running


async def test_a_service_is_chosen_from_a_list_and_what_is_away_is_told(world: World) -> None:
    """By mouse and by key, from one page to the same page of another; the overview hears of news by itself."""
    async with a_browser() as browser, a_page(browser, world) as page:
        await page.goto("/parked")
        await page.locator(".places summary", has_text="shop").click()
        await page.get_by_role("link", name="billing").click()
        await page.wait_for_url("**/services/billing/parked")
        await expect(page.locator(".places summary")).to_have_text("billing")
        await expect(page.locator("#live")).to_contain_text("Not running")
        await page.keyboard.press("o")
        await page.wait_for_url("**/services/billing/")
        await page.keyboard.press("v")
        await page.get_by_role("link", name="All services").click()
        await page.wait_for_url("**/services")
        row = page.locator("#services tbody tr")
        await expect(row.nth(0)).to_contain_text("running")
        await expect(row.nth(1)).to_contain_text("not running")
        await expect(row.nth(2)).to_contain_text("away")
        await expect(row.nth(2)).to_contain_text("cannot be reached")
        assert "hunter2" not in await page.content()
        await trouble(world)
        await expect(page.get_by_role("link", name="9 parked in shop")).to_be_visible(timeout=20_000)
        await expect(page.get_by_role("link", name=f"{app.context}: 2 aggregates for a person")).to_be_visible()
        for width in WIDTHS:
            for scheme in SCHEMES:
                await page.set_viewport_size({"width": width, "height": 844})
                await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # one of two
                for path in ("/services", "/services/billing/"):
                    await page.goto(path)
                    assert await audited(page) == [], (path, width, scheme)

"""Charts over time in a real browser: drawn, told, listed, and for everybody."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.audit import audited
from tests.browser.past import an_hour
from tests.browser.test_console import SCHEMES, WIDTHS, a_page
from tests.browser.world import a_browser, a_world, needs_chromium, settings_in, trouble

pytestmark = needs_chromium

CHARTS = ("Lag", "Parked", "Throughput", "Failures of calls by category")
PAGES = ("/", "/subscriptions/Shipping.on_order_paid")


async def test_an_hour_is_seen_told_and_listed_and_a_table_that_was_opened_stays_so(
    postgres_dsn: str, schema: str
) -> None:
    """By its title and its text for who does not see it; the range is in the address; in every width and scheme."""
    async with (
        a_world(postgres_dsn, settings_in(schema)) as world,
        a_browser() as browser,
        a_page(browser, world) as page,
    ):
        await page.goto("/?range=6h")
        # The first sample is taken when the app begins: it has no rates yet.
        await expect(page.locator("svg.time")).to_have_count(4, timeout=20_000)
        await expect(page.get_by_role("img", name="Lag over time")).to_be_visible()
        await an_hour(postgres_dsn, schema)
        await page.get_by_role("link", name="1h", exact=True).click()
        await page.wait_for_url("**/?range=1h")
        for name in CHARTS:
            await expect(page.get_by_role("img", name=f"{name} over time")).to_be_visible()
        told = await page.locator("#chart-lag-text").text_content()
        assert told is not None
        assert "not read: " in told
        assert "1 gap in which nobody took samples" in told
        assert await page.locator("svg.time rect.none").count() >= 4

        await page.get_by_text("As a table").click()
        await expect(page.get_by_role("row").last).to_be_visible()
        rows = page.locator("#samples tbody tr")
        assert 80 < await rows.count() < 121
        await trouble(world)
        await expect(page.get_by_text("2 aggregates for a person to decide")).to_be_visible(timeout=20_000)
        await expect(page.locator("#samples")).to_have_attribute("open", "")

        for width in WIDTHS:
            for scheme in SCHEMES:
                await page.set_viewport_size({"width": width, "height": 844})
                await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # one of two
                for path in PAGES:
                    await page.goto(path)
                    await expect(page.locator("svg.time")).to_have_count(4)
                    assert await audited(page) == [], (path, width, scheme)

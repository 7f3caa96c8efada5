"""The pictures of the console under `docs/console/`, drawn anew: `python -m tests.browser.pictures`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.browser.past import an_hour
from tests.browser.world import World, a_browser, a_world, settings_in, trouble
from wow_ray.adapters.embedded import EmbeddedPostgres
from wow_ray.ops import Command, ParkedQuery

PLACE = Path(__file__).resolve().parents[2] / "docs" / "console"
SIZES = {"wide": (1280, 860), "narrow": (390, 844)}


async def drawn(dsn: str) -> None:
    """Draw the overview, its charts, the groups of errors and one aggregate, in both sizes and both schemes."""
    async with a_world(dsn, settings_in("pictures")) as world, a_browser() as browser:
        await trouble(world)
        await an_hour(dsn, "pictures")
        pages = await _pages(world)
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                context = await browser.new_context(
                    base_url=world.address,
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                )
                page = await context.new_page()
                for name, path in pages.items():
                    await page.goto(path)
                    await page.screenshot(path=PLACE / f"{name}-{size}-{scheme}.png")
                await context.close()


async def _pages(world: World) -> dict[str, str]:
    """Let somebody have acted, and give the pages to draw."""
    rows = (await world.operations.parked(ParkedQuery(aggregate_id="o-1017"))).rows
    await world.operations.pause_subscription("Mails.on_order_shipped", Command("ann", "the mail provider moves house"))
    return {
        "overview": "/",
        "charts": "/#over-time",
        "groups": "/parked?view=groups",
        "aggregate": f"/parked/{rows[0].id}",
    }


def main() -> None:
    """Draw them on a server of one's own."""
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wow-ray-pictures-") as folder:
        Path(folder).chmod(0o711)  # under root the server's user passes through it
        with EmbeddedPostgres(Path(folder) / "state", durable=False) as server:
            asyncio.run(drawn(server.dsn))


if __name__ == "__main__":
    main()

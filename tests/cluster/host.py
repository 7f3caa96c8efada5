"""Hosts one partition's actor in this process, without Ray: `python -m tests.cluster.host PARTITION APP CONTEXT`.

Says `running` when it runs, and ends as it would on Ray: with 70 when it is fenced, with 0 when it was drained, which
is what the end of its standard input asks for.
"""

from __future__ import annotations

import asyncio
import os
import sys

from tests.waiting import until
from wow_ray.actors.partition import PartitionActor
from wow_ray.cli.run_site import AppSite


async def host(partition: str, target: str, context: str) -> None:
    """Host it until the end of the standard input."""
    actor = PartitionActor(partition, AppSite(target, context, "r1"), end=os._exit)

    async def runs() -> bool:
        return bool((await actor.status())["standing"] == "running")

    await until(runs, "the partition to run", seconds=120)
    sys.stdout.write("running\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await actor.drain()
    await actor.life.close()


if __name__ == "__main__":
    asyncio.run(host(*sys.argv[1:]))

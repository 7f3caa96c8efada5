"""What is done to the ground: each fault begins, lasts as long as it says, and leaves the ground whole again.

Whole means that what was taken away is there again, not that the app has recovered: the next fault does not wait.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.chaos.storm.app import CONTEXT
from tests.chaos.storm.ground import NODES, Ground, add_node, lasting, processes_on, signalled
from tests.waiting import until
from wow_ray.actors.fleet import LEDGER, SUPERVISOR
from wow_ray.errors import StoreUnavailableError

Fault = Callable[[Ground], Awaitable[None]]

SESSIONS = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE $1"
MOST = 6
"""Partitions at most, on two cores."""


async def partition_killed(ground: Ground) -> None:
    """SIGKILL one partition's process; Ray starts it anew."""
    signalled([await ground.pid(ground.chance.choice(ground.names))], signal.SIGKILL)


async def two_partitions_killed(ground: Ground) -> None:
    """SIGKILL two partitions at once."""
    pids = [await ground.pid(name) for name in ground.chance.sample(ground.names, 2)]
    signalled(pids, signal.SIGKILL)


async def partition_frozen(ground: Ground) -> None:
    """Stop one partition's process for less than its lease."""
    pid = await ground.pid(ground.chance.choice(ground.names))
    signalled([pid], signal.SIGSTOP)
    await lasting(3)
    signalled([pid], signal.SIGCONT)


async def supervisor_killed(ground: Ground) -> None:
    """SIGKILL the supervisor's process."""
    signalled([await ground.pid(SUPERVISOR)], signal.SIGKILL)


async def ledger_killed(ground: Ground) -> None:
    """SIGKILL the ledger's process."""
    signalled([await ground.pid(LEDGER)], signal.SIGKILL)


async def scaled(ground: Ground) -> None:
    """Ask for another number of partitions, and do not wait for it: the next fault meets the moves."""
    ground.partitions = ground.chance.choice([n for n in range(2, MOST + 1) if n != ground.partitions])

    async def asked() -> bool:
        try:
            await ground.operations.scaling.scale(ground.partitions, replace=True)
        except StoreUnavailableError:
            return False
        return True

    await until(asked, "a number of partitions to be asked for", seconds=60)
    await ground.look()


async def sessions_ended(ground: Ground) -> None:
    """End every session of the app at Postgres, twice."""
    async with ground.server.admin() as admin:
        for _ in range(2):
            await admin.fetch(SESSIONS, f"wow-ray/{CONTEXT}/%")
            await lasting(0.3)


async def store_killed(ground: Ground) -> None:
    """SIGKILL Postgres, and have it back after 1.5 s."""
    await ground.server.end(signal.SIGKILL)
    await lasting(1.5)
    await ground.server.start()


async def store_restarted(ground: Ground) -> None:
    """Shut Postgres down as `-m immediate` does, and start it at once."""
    await ground.server.end(signal.SIGQUIT)
    await ground.server.start()


async def way_cut(ground: Ground) -> None:
    """Lose, without a word, everything between the partitions and Postgres for 3 s; open connections stay deaf."""
    ground.way.blocked = True
    ground.way.deafen()
    await lasting(3)
    ground.way.blocked = False


async def wakes_killed(ground: Ground) -> None:
    """SIGKILL the Redis of the wake-ups, and have it back after a second."""
    await asyncio.to_thread(ground.redis.kill)
    await lasting(1)
    await asyncio.to_thread(ground.redis.start)


async def head_lost(ground: Ground) -> None:
    """Lose the process at the head that knows who is where (GCS), and have it back after 2 s."""
    node = ground.cluster.head_node
    await asyncio.to_thread(node.kill_gcs_server)
    await lasting(2)
    await asyncio.to_thread(node.start_gcs_server)


async def node_killed(ground: Ground) -> None:
    """SIGKILL a node's own process, with which all on it end; another node comes."""
    node = ground.any_node()
    await _replaced(ground, node)


async def node_frozen(ground: Ground) -> None:
    """Stop a node with all that runs on it for longer than a lease; its processes wake first, as zombies.

    The node was given up meanwhile, and what it ran was started elsewhere. When the node's own process wakes it ends.
    """
    node = ground.any_node()
    process = _raylet(node)
    pids = processes_on(process.pid)
    signalled([process.pid, *pids], signal.SIGSTOP)
    await lasting(12)
    signalled(pids, signal.SIGCONT)
    await lasting(2)
    signalled([process.pid], signal.SIGCONT)
    await _replaced(ground, node)


async def _replaced(ground: Ground, node: Any) -> None:  # noqa: ANN401 - Ray's own
    """Have another node in place of one that is killed now, if it still runs."""
    await asyncio.to_thread(ground.cluster.remove_node, node, False)  # noqa: FBT003 - its own signature
    await asyncio.to_thread(add_node, ground.cluster, ground.cluster.head_redis)


async def node_drained(ground: Ground) -> None:
    """Tell Ray that a node leaves, as a cloud's notice does; it goes once nothing of the app is left on it."""
    node = ground.any_node()
    options = ("--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "storm")
    address = ("--address", ground.cluster.address, "--node-id", node.node_id, "--deadline-remaining-seconds", "60")
    ray = Path(sys.executable).with_name("ray")
    told = await asyncio.create_subprocess_exec(
        ray, "drain-node", *address, *options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert await told.wait() == 0

    async def empty() -> bool:
        try:
            async with asyncio.timeout(10):
                return not await ground.fleet.leaving()
        except TimeoutError:
            return False

    await until(empty, "a node that leaves to be empty", seconds=120)
    await _replaced(ground, node)


def _raylet(node: Any) -> Any:  # noqa: ANN401 - Ray's own
    return node.all_processes["raylet"][0].process


PROCESSES: Mapping[str, tuple[Fault, int]] = {
    "partition killed": (partition_killed, 14),
    "two partitions killed": (two_partitions_killed, 4),
    "partition frozen": (partition_frozen, 5),
    "supervisor killed": (supervisor_killed, 5),
    "ledger killed": (ledger_killed, 3),
    "scaled": (scaled, 7),
}
"""What is done to processes, and how often in one round."""
SURROUNDINGS: Mapping[str, tuple[Fault, int]] = {
    "sessions ended": (sessions_ended, 7),
    "store killed": (store_killed, 2),
    "store restarted": (store_restarted, 3),
    "way cut": (way_cut, 3),
    "wake-ups killed": (wakes_killed, 4),
    "head lost": (head_lost, 2),
    "node killed": (node_killed, 2),
    "node drained": (node_drained, 1),
    "node frozen": (node_frozen, 1),
}
"""What is done to what they stand on, at the same time, and how often in one round."""
FAULTS_A_ROUND = sum(times for _, times in (*PROCESSES.values(), *SURROUNDINGS.values()))

assert NODES >= 1

"""Where Ray is put on: the options of every actor, the fleet by name, and the processes of a partition.

Measured on Ray 2.60 and relied on here: an async actor keeps no order of calls, so nothing that needs an order is a
call; each concurrency group is a thread with a loop of its own; a constructor that raises after a restart leaves the
actor dead for ever, so constructors do no I/O; there is no usable shutdown hook, so stopping is an explicit `drain`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import ray
from ray._private.state import actors as actor_states
from ray._private.state import state as cluster_state
from ray.actor import ActorHandle
from ray.exceptions import RayActorError, RayError

from wow_ray.actors.caller import CallerActor
from wow_ray.actors.calling import CallActor
from wow_ray.actors.fleet import CALLER, LEDGER, SUPERVISOR
from wow_ray.actors.isolation import Reply, Told, WorkerGoneError, processor_of
from wow_ray.actors.ledger import LedgerActor
from wow_ray.actors.partition import PartitionActor
from wow_ray.actors.site import Site
from wow_ray.actors.supervisor import SupervisorActor
from wow_ray.handlers.specs import GroupSpec

CONTROL = "control"
"""The concurrency group of status, drain and nudges: its thread answers while the data loop is busy."""

_EVERY: Mapping[str, Any] = {
    # Repeating a call is ours to decide: Ray would repeat in another order and eat no budget of ours (S31).
    "max_task_retries": 0,
    # With them the head's memory grows by 3 KB a call, for ever.
    "enable_task_events": False,
    # See CONTROL; four of them, so that a drain that takes its time does not hold a status up.
    "concurrency_groups": {CONTROL: 4},
}
_LASTING: Mapping[str, Any] = {
    **_EVERY,
    # Outlives the program that started it, and the supervisor; ended by name, never by being forgotten.
    "lifetime": "detached",
    # Started anew for ever: what it is to own lies in the store.
    "max_restarts": -1,
    # Small, so that it fits beside anything; not 0, which SPREAD does not spread.
    "num_cpus": 0.01,
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    # One node that is lost takes as few of them as can be.
    "partition": {**_LASTING, "scheduling_strategy": "SPREAD"},
    # Does what anybody does who is free, so one that is lost is nobody's trouble; spread, since it may take a core.
    "caller": {**_LASTING, "scheduling_strategy": "SPREAD"},
    SUPERVISOR: _LASTING,
    LEDGER: _LASTING,
    # Belongs to its partition and ends with it. Not restarted by Ray: the pool starts another one, and a death is told
    # at once instead of after a wait for the restart. CPUs and GPUs are the processor's own to say.
    "calls": {**_EVERY, "max_restarts": 0, "scheduling_strategy": "DEFAULT"},
}

GONE = (RayActorError, ValueError)
"""An actor is away: dead, being started anew, or (`ValueError`) there is none of that name."""


def namespace_of(context: str) -> str:
    """Give the namespace of an app's actors: two apps on one cluster do not see each other (H57)."""
    return f"wow-ray-{context}"


def put_on(cls: type[Any], kind: str) -> Any:  # noqa: ANN401 - Ray's own
    """Make an actor class of a plain one."""
    return ray.remote(**OPTIONS[kind])(cls)


def control(handle: ActorHandle[Any], method: str, *arguments: object) -> Awaitable[Any]:
    """Call a method in the control group."""
    return cast("Awaitable[Any]", getattr(handle, method).options(concurrency_group=CONTROL).remote(*arguments))


@dataclass(frozen=True)
class RayFleet:
    """`Fleet` on the cluster this process is connected to; travels as names. A partition reserves `cpus`."""

    site: Site
    cpus: float = 0.01

    @property
    def namespace(self) -> str:
        """Where the actors are."""
        return namespace_of(self.site.context)

    async def start(self, actor: str) -> None:
        """See the port."""
        await asyncio.to_thread(self._start, actor)

    def _start(self, actor: str) -> None:
        lasting: dict[str, Any] = {"name": actor, "namespace": self.namespace, "get_if_exists": True}
        if actor == SUPERVISOR:
            put_on(SupervisorActor, SUPERVISOR).options(**lasting).remote(self.site, self)
        elif actor == LEDGER:
            put_on(LedgerActor, LEDGER).options(**lasting).remote(self.site, self)
        elif actor.startswith(CALLER):
            put_on(CallerActor, "caller").options(**lasting).remote(actor, self.site)
        else:
            lasting["num_cpus"] = self.cpus
            put_on(PartitionActor, "partition").options(**lasting).remote(actor, self.site, RayHire(self.site), self)

    async def status(self, actor: str, patience: float) -> Mapping[str, Any] | None:
        """See the port."""
        return cast("Mapping[str, Any] | None", await self._asked(actor, "status", patience))

    async def nudge_due(self, partition: str, patience: float) -> None:
        """See the port."""
        await self._asked(partition, "nudge_due", patience)

    async def nudge_intents(self, partition: str, patience: float) -> None:
        """See the port."""
        await self._asked(partition, "nudge_intents", patience)

    async def direct(self, partition: str, directive: Mapping[str, Any], patience: float) -> None:
        """See the port."""
        await self._asked(partition, "direct", patience, directive)

    async def may_probe(self, partition: str, group: str, patience: float) -> bool | None:
        """See `Steering`."""
        return cast("bool | None", await self._asked(SUPERVISOR, "may_probe", patience, partition, group))

    async def probed(self, partition: str, group: str, patience: float, *, succeeded: bool) -> None:
        """See `Steering`."""
        await self._asked(SUPERVISOR, "probed", patience, partition, group, succeeded)

    async def drain(self, partition: str, patience: float) -> bool:
        """See the port."""
        try:
            handle = await self._handle(partition)
            await asyncio.wait_for(control(handle, "drain"), patience)
        except (*GONE, TimeoutError):
            return False
        return True

    async def replace(self, actor: str) -> None:
        """See the port."""
        await self._kill(actor, no_restart=False)

    async def end(self, actor: str) -> None:
        """See the port."""
        await self._kill(actor, no_restart=True)

    async def names(self) -> frozenset[str]:
        """See the port."""
        found = await asyncio.to_thread(ray.util.list_named_actors, all_namespaces=True)
        return frozenset(each["name"] for each in found if each["namespace"] == self.namespace)

    async def leaving(self) -> frozenset[str]:
        """See the port."""
        # Ray tells nobody that a node is being drained but here (measured: 1 ms); it is asked once a second.
        nodes = await asyncio.to_thread(cluster_state.get_draining_nodes)
        if not nodes:
            return frozenset()
        return frozenset([name for name in await self.names() if await self._node(name) in nodes])

    async def _node(self, actor: str) -> str:
        """Give the node an actor lives on; empty = on none."""
        try:
            handle = await self._handle(actor)
            found = await asyncio.to_thread(actor_states, handle._actor_id.hex())  # noqa: SLF001 - as in `waits`
        except GONE:
            return ""
        return str(found.get("Address", {}).get("NodeID", ""))

    async def waits(self, actor: str) -> bool:
        """See the port."""
        try:
            handle = await self._handle(actor)
            # Ray tells this to nobody without its dashboard but here (measured).
            found = await asyncio.to_thread(actor_states, handle._actor_id.hex())  # noqa: SLF001 - as said
        except GONE:
            return False
        return found.get("State") in {"PENDING_CREATION", "DEPENDENCIES_UNREADY"}

    async def _handle(self, actor: str) -> ActorHandle[Any]:
        return await asyncio.to_thread(ray.get_actor, actor, namespace=self.namespace)

    async def _asked(self, actor: str, method: str, patience: float, *arguments: Any) -> Any:  # noqa: ANN401 - its answer
        """Ask an actor; `None` = it is away."""
        try:
            handle = await self._handle(actor)
            return await asyncio.wait_for(control(handle, method, *arguments), patience)
        except GONE:
            return None

    async def _kill(self, actor: str, *, no_restart: bool) -> None:
        with contextlib.suppress(*GONE):
            handle = await self._handle(actor)
            await asyncio.to_thread(ray.kill, handle, no_restart=no_restart)


class RayWorker:
    """`Worker` as an actor that belongs to this process."""

    def __init__(self, site: Site, group: GroupSpec) -> None:
        """Ask for the process; it comes when the cluster has what it is to have."""
        share = {"num_cpus": group.processes.num_cpus, "num_gpus": group.processes.num_gpus}
        name = processor_of(group)
        self._handle: Any = put_on(CallActor, "calls").options(**share).remote(site, name)

    async def ready(self) -> str:
        """See the port."""
        return cast("str", await self._told(self._handle.ready.remote()))

    async def call(self, number: int, told: Told) -> Reply | None:
        """See the port."""
        return cast("Reply | None", await self._told(self._handle.call.remote(number, told)))

    async def cancel(self, number: int) -> None:
        """See the port."""
        with contextlib.suppress(RayError):
            await control(self._handle, "cancel", number)

    async def close(self) -> None:
        """See the port."""
        with contextlib.suppress(RayError, TimeoutError):
            await asyncio.wait_for(self._handle.close.remote(), CLOSING)
        self.end()

    def end(self) -> None:
        """See the port."""
        ray.kill(self._handle, no_restart=True)

    @staticmethod
    async def _told(answer: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever was asked
        """Wait for an answer; what Ray says of a process that has ended becomes ours."""
        try:
            return await answer
        except RayActorError as error:
            raise WorkerGoneError(str(error).strip().partition("\n")[0] or type(error).__name__) from error


CLOSING = 5.0
"""Seconds a process for calls may take to close what it opened."""


@dataclass(frozen=True)
class RayHire:
    """`Hire` on Ray; travels as names."""

    site: Site

    def __call__(self, group: GroupSpec) -> RayWorker:
        """Start a process."""
        return RayWorker(self.site, group)

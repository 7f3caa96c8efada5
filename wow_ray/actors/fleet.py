"""The actors of one app, as those who steer them see them: by name, never by handle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

SUPERVISOR, LEDGER = "supervisor", "ledger"
"""The names of the two small actors; a partition's actor has the partition's name."""

CALLER = "calls/"
"""How the names begin of those that run durable calls and nothing else: no partition's can, since no context's can."""


def callers_of(count: int) -> frozenset[str]:
    """Name so many of them."""
    return frozenset(f"{CALLER}{place}" for place in range(count))


class Steering(Protocol):
    """What a partition's actor asks and tells the supervisor; one that is away is no error."""

    async def may_probe(self, partition: str, group: str, patience: float) -> bool | None:
        """Ask for the permit to probe a group; `None` = the supervisor is away (W7)."""
        ...

    async def probed(self, partition: str, group: str, patience: float, *, succeeded: bool) -> None:
        """Tell how a probe ended."""
        ...


class Fleet(Protocol):
    """Starting, asking and ending actors. An actor that is away, being restarted or unknown is no error here."""

    async def start(self, actor: str) -> None:
        """Have an actor of that name: `SUPERVISOR`, `LEDGER`, a caller's or a partition's; one that is there stays."""
        ...

    async def status(self, actor: str, patience: float) -> Mapping[str, Any] | None:
        """Ask an actor how it stands; `None` = it is away. Raises `TimeoutError` after `patience` seconds."""
        ...

    async def nudge_due(self, partition: str, patience: float) -> None:
        """Have a partition begin what is due."""
        ...

    async def nudge_intents(self, partition: str, patience: float) -> None:
        """Have a partition look for intents."""
        ...

    async def direct(self, partition: str, directive: Mapping[str, Any], patience: float) -> None:
        """Have a partition follow a directive: see `PartitionActor.direct`."""
        ...

    async def drain(self, partition: str, patience: float) -> bool:
        """Have a partition give up its slots; `False` = it did not say so within `patience` seconds."""
        ...

    async def replace(self, actor: str) -> None:
        """End an actor's process so that it is started anew, whatever it is doing."""
        ...

    async def end(self, actor: str) -> None:
        """End an actor for good."""
        ...

    async def waits(self, actor: str) -> bool:
        """Tell whether an actor waits for a place in the cluster: it has no process yet."""
        ...

    async def leaving(self) -> frozenset[str]:
        """Name the actors whose node is being drained, so that they have to live elsewhere soon."""
        ...

    async def names(self) -> frozenset[str]:
        """Name the actors there are."""
        ...

"""In which slot an aggregate lies, and which slots a partition is given.

The hash is part of the stored data: SQL and every program compute it alike, for ever. A migration stores its name and
`TEST_VECTORS`; a program that computes otherwise does not start (H37).
"""

from __future__ import annotations

from hashlib import md5
from itertools import pairwise
from typing import TYPE_CHECKING

from wow_ray.errors import SchemaError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

HASH_NAME = "md5-be32-mod"
MOST_SLOTS = 4096

TEST_VECTORS: tuple[tuple[tuple[str, str, str], int], ...] = (
    (("shop", "order", "o-42"), 391_075_449),
    (("shop", "order", "o-1"), 4_018_738_840),
    (("shop", "parcel", "42"), 2_403_870_379),
    (("", "order", "o-42"), 3_282_649_744),
    (("shop", "order", "a:b:c"), 1_275_428_375),
    (("shop", "order", "\xdcn\xefcode"), 3_091_487_426),
    (("shop", "order", "\u8ba2\u5355-7"), 3_120_229_606),
    (("shop", "order", "\U0001f4e6"), 301_017_942),
    (("billing", "invoice", "00000000-0000-0000-0000-000000000000"), 2_801_342_719),
    (("a", "b", " "), 4_169_868_588),
)
"""Aggregates and their `hash32`: plain, without a context, with colons, beyond ASCII and beyond the basic plane."""


def hash32(context: str, aggregate: str, id: str) -> int:  # noqa: A002 - the word for it (events.AggregateRef)
    """Hash an aggregate to 32 bits, unsigned: the first four bytes, big-endian, of md5 over `context:aggregate:id`."""
    digest = md5(f"{context}:{aggregate}:{id}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def slot_of(context: str, aggregate: str, id: str, slots: int) -> int:  # noqa: A002 - as in hash32
    """Answer the slot, from 0, in which the events of an aggregate lie when there are `slots` of them."""
    return hash32(context, aggregate, id) % slots


def check_slot_count(slots: object) -> int:
    """Answer the number of slots when it may be chosen; raises `SettingsError` unless it is a whole 1 to 4096."""
    if isinstance(slots, bool) or not isinstance(slots, int) or not 1 <= slots <= MOST_SLOTS:
        raise SettingsError(f"slots is {slots!r}; it is a whole number from 1 to {MOST_SLOTS}, as 256", "WOW-SLOTS")
    return slots


def check_hash(name: str, vectors: Iterable[tuple[tuple[str, str, str], int]] = TEST_VECTORS) -> None:
    """Compare the hash that a database was made with with this program's; raises `SchemaError` when they differ."""
    if name != HASH_NAME:
        raise SchemaError(f"this database's slots were made by hash {name!r}, this program computes {HASH_NAME!r}")
    for (context, aggregate, identity), stored in vectors:
        computed = hash32(context, aggregate, identity)
        if computed != stored:
            raise SchemaError(
                f"hash {name!r} of {context}:{aggregate}:{identity} is {stored} in this database, {computed} here; "
                "events would be looked for in wrong slots"
            )


def shares(slots: int, partitions: int) -> tuple[tuple[int, ...], ...]:
    """Split slots 0 up to `slots` into as many contiguous shares as there are partitions, sizes differing by at most 1.

    Raises `SettingsError` when there are more partitions than slots, or less than one.
    """
    if not 1 <= partitions <= slots:
        raise SettingsError(f"partitions is {partitions}; it is at least 1 and at most the {slots} slots", "WOW-SLOTS")
    bounds = [slots * place // partitions for place in range(partitions + 1)]
    return tuple(tuple(range(first, end)) for first, end in pairwise(bounds))

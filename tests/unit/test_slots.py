"""Which slot an aggregate lies in, and who gets which slots."""

from __future__ import annotations

from hashlib import md5

import pytest

from wow_ray.errors import SchemaError, SettingsError
from wow_ray.policy.slots import HASH_NAME, TEST_VECTORS, check_hash, check_slot_count, hash32, shares, slot_of


@pytest.mark.parametrize(("aggregate", "expected"), TEST_VECTORS)
def test_the_hash_of_each_test_vector_is_what_is_written_down(aggregate: tuple[str, str, str], expected: int) -> None:
    """H37: the hash never changes, on any machine."""
    assert hash32(*aggregate) == expected


def test_the_hash_is_the_first_four_bytes_of_md5_unsigned() -> None:
    """H37: said twice, so that SQL can be written from it: ('x' || substr(md5(...), 1, 8))::bit(32)::bigint."""
    assert hash32("shop", "order", "o-42") == int(md5(b"shop:order:o-42", usedforsecurity=False).hexdigest()[:8], 16)


def test_a_slot_is_the_hash_modulo_the_number_of_slots() -> None:
    """H37: 391_075_449 % 256 = 121."""
    assert slot_of("shop", "order", "o-42", 256) == 391_075_449 % 256 == 121


def test_aggregates_spread_evenly_over_the_slots() -> None:
    """H37: of 25,600 ids no slot of 256 gets far more than its 100."""
    counts = [0] * 256
    for number in range(25_600):
        counts[slot_of("shop", "order", f"o-{number}", 256)] += 1

    assert min(counts) > 50
    assert max(counts) < 160


@pytest.mark.parametrize("slots", [1, 256, 4_096])
def test_a_number_of_slots_from_1_to_4096_is_accepted(slots: int) -> None:
    """H37: at most 4096."""
    assert check_slot_count(slots) == slots


@pytest.mark.parametrize("slots", [0, -1, 4_097, True, 1.0, "256", None])
def test_any_other_number_of_slots_is_refused(slots: object) -> None:
    """H37: it can never be changed later, so it must be right."""
    with pytest.raises(SettingsError, match="1 to 4096"):
        check_slot_count(slots)


def test_a_database_with_the_same_hash_is_accepted() -> None:
    """H37: what a migration stored agrees with the program."""
    check_hash(HASH_NAME, TEST_VECTORS)


def test_a_database_with_another_hash_is_refused() -> None:
    """H37: a program that computes otherwise refuses to start."""
    with pytest.raises(SchemaError, match="crc32"):
        check_hash("crc32")
    with pytest.raises(SchemaError, match=r"shop:order:o-42 is 7 in this database, 391075449 here"):
        check_hash(HASH_NAME, [(("shop", "order", "o-42"), 7)])


def test_every_slot_is_in_exactly_one_share_and_shares_are_even() -> None:
    """H37: partitions share the slots, at most one apart."""
    for slots in (1, 7, 64, 256):
        for partitions in range(1, slots + 1):
            split = shares(slots, partitions)
            sizes = {len(share) for share in split}

            assert [slot for share in split for slot in share] == list(range(slots))
            assert len(split) == partitions
            assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("partitions", [0, -1, 9])
def test_more_partitions_than_slots_or_none_are_refused(partitions: int) -> None:
    """H37: partitions <= slots."""
    with pytest.raises(SettingsError, match="8 slots"):
        shares(8, partitions)

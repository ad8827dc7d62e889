from dataclasses import replace
from typing import Any

import pytest

from duolog.runtime.dead_letters.selection import Counts, Selection
from unit.runtime.dead_letters.making import letter

QUERY = (("__duolog.errors.application", b"Q"),)


@pytest.mark.parametrize(
    ("given", "takes"),
    [
        ({}, True),
        ({"partitions": frozenset({1, 2})}, True),
        ({"partitions": frozenset({0})}, False),
        ({"first": 5, "last": 5}, True),
        ({"first": 6}, False),
        ({"last": 4}, False),
        ({"since_ms": 1_000}, True),
        ({"since_ms": 1_001}, False),
        ({"until_ms": 1_001}, True),
        ({"until_ms": 1_000}, False),
        ({"reason": "SERIAL"}, True),
        ({"reason": "cannot READ"}, True),
        ({"reason": "other"}, False),
        ({"query": "Q"}, True),
        ({"query": "q"}, False),
        ({"source": "orders"}, True),
        ({"source": "order"}, False),
        ({"replayed": True}, True),
        ({"replayed": False}, False),
        ({"source": "orders", "query": "R"}, False),
    ],
)
def test_all_conditions_must_hold(given: dict[str, Any], *, takes: bool) -> None:
    one = letter(5, partition=1, more=QUERY)

    assert Selection(**given).takes(one, {1: frozenset({5}), 0: frozenset()}) is takes


def test_a_replayed_offset_counts_in_its_own_partition_only() -> None:
    assert Selection(replayed=False).takes(letter(5, partition=1), {0: frozenset({5})})


def test_counts_have_ages_and_groups() -> None:
    counts = Counts()
    for timestamp_ms in (50, 0, 20):
        one = letter()
        dated = replace(one, record=one.record._replace(timestamp_ms=timestamp_ms))
        counts.add(dated, replayed=timestamp_ms == 0)

    assert (counts.letters, counts.replayed) == (3, 1)
    assert (counts.oldest_ms, counts.newest_ms) == (0, 50)
    assert list(counts.groups) == [("streams", "SerializationException", "", "orders")]
    assert counts.groups["streams", "SerializationException", "", "orders"].letters == 3

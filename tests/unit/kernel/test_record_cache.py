"""The record cache beyond what it may hold: in Java, without Spark."""

import pytest

from duolog.core.units import GIB, MIB
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)


def update_counts(cache_bytes: int, *steps: tuple[int, int]) -> list[int]:
    """Return the number of updates emitted after each step (keys, bytes of their rows), and at the end."""
    arguments = [part for step in steps for part in step]
    return [int(word) for word in run_java("RecordCache", cache_bytes, *arguments)]


def test_a_record_cache_larger_than_the_read_cache_adds_no_memory_per_key() -> None:
    """Beyond 64 MiB each new key went through all that were held back: hours for a million keys."""
    assert update_counts(GIB, (400_000, 16)) == [0, 400_000]


def test_a_row_that_grows_while_it_is_held_back_counts_as_large_as_it_is() -> None:
    assert update_counts(10_000, (2, 16), (2, 4000), (1, 8000)) == [0, 0, 1, 2]


def test_entries_emitted_early_no_longer_count() -> None:
    assert update_counts(1000, (3, 400), (1, 16), (2, 16)) == [1, 2, 2, 5]


def test_the_cache_of_a_default_size_holds_as_many_small_rows_as_kafka_streams() -> None:
    """Two tasks have 50,000 keys each; Kafka Streams emits none of their updates before it commits."""
    assert update_counts(5 * MIB, (50_000, 24)) == [0, 50_000]


def test_an_entry_that_somebody_holds_is_changed_though_the_store_has_forgotten_it() -> None:
    """A session looks up those that it joins before it is kept: in large micro-batches updates were lost."""
    assert run_java("EvictedEntrySteps") == ["2", "2"]

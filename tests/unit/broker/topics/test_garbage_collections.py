"""Garbage collections do not scan the objects of a very large number of partitions."""

import gc
from typing import Any


def test_long_lived_objects_are_excluded_from_garbage_collections(harness: Any) -> None:
    """A collection of all that is old held the loop for 250 ms with 10,000 partitions."""
    gc.collect()
    before = len(gc.get_objects())

    harness.topic("many", 2_000)

    assert len(gc.get_objects()) - before < 10_000

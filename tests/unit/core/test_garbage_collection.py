import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from duolog.core.garbage_collection import LASTING_S, LastingObjects


@dataclass
class Watch:
    now_s: float = 0.0

    def now_ms(self) -> int:
        return int(self.now_s * 1000)

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch, thresholds = Watch(), gc.get_threshold()
    lasting = LastingObjects(watch)
    lasting.start()
    yield watch
    assert gc.get_threshold() != thresholds
    lasting.stop()
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0


class Node:
    """An object that can refer to itself."""

    def __init__(self) -> None:
        self.myself: Node | None = None


def is_collected(node: Node) -> bool:
    """Return true if collections still look at an object."""
    return any(one is node for one in gc.get_objects())


def test_survivors_of_a_full_collection_are_left_out_of_later_ones(watch: Watch) -> None:
    node = Node()
    assert is_collected(node)

    gc.collect(1)
    assert is_collected(node)

    gc.collect()
    assert not is_collected(node)


def test_they_are_scanned_again_after_a_while(watch: Watch) -> None:
    node = Node()
    node.myself = node
    gc.collect()
    left = weakref.ref(node)
    del node

    gc.collect()
    assert left() is not None
    watch.now_s = LASTING_S
    gc.collect()  # Looks at the young ones, and then includes the others.
    assert gc.get_freeze_count() == 0
    gc.collect()

    assert left() is None
    assert gc.get_freeze_count() > 0

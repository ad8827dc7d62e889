"""A topic that was deleted is gone: from the disk, and from memory, which nothing else would clear of it."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duolog.broker.topics.topics import Partition
from duolog.core.operating_system.portable import PORTABLE
from duolog.log.partition.partition_log import PartitionLog
from duolog.log.segments.segment import Segment

_DELETE_TOPICS = 20


def delete(harness: Any, topic: str) -> None:
    answer = harness.client().ask(_DELETE_TOPICS, 1, topic_names=[topic], timeout=1000)
    assert answer.responses[0].error_code == 0
    for _ in range(5):
        harness.turn()


on_linux = pytest.mark.skipif(
    sys.platform != "linux" or PORTABLE, reason="only Linux lists the paths of open files"
)


@on_linux
def test_the_files_of_a_deleted_topic_are_closed_and_their_space_is_free(harness: Any) -> None:
    harness.topic("orders", 3)
    client = harness.client()
    for index in range(3):
        client.produce("orders", harness.batch(b"v"), partition=index)
    topic_id = str(harness.broker.topics.find("orders").id)
    assert len(open_files(topic_id)) == 3

    delete(harness, "orders")

    assert open_files(topic_id) == []


def open_files(topic_id: str) -> list[str]:
    paths = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            paths.append(str(link.readlink()))
    return [path for path in paths if topic_id in path]


def test_a_deleted_topic_leaves_nothing_for_a_collection(
    harness: Any, watch: Callable[[Any], Callable[[], list[Any]]]
) -> None:
    """The garbage collector rarely visits old objects, and never frozen ones: a cycle would stay forever."""
    left = watch(Partition | PartitionLog | Segment)
    harness.topic("orders", 250)
    client = harness.client()
    client.produce("orders", harness.batch(b"v"))
    client.fetch("orders", 0)
    assert len(left()) > 250

    delete(harness, "orders")

    assert [type(each).__name__ for each in left()] == []

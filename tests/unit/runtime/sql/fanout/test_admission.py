"""A client that is at the position of a reader joins it."""

from collections import deque
from unittest.mock import MagicMock

from duolog.runtime.sql.fanout.feed import Feed


def test_a_client_joins_a_reader_that_has_just_got_a_partition_and_has_no_batches() -> None:
    feed = object.__new__(Feed)
    feed._ready, feed._recent, feed._groups = True, deque(), {}
    feed._positions = {0: 5, 1: 0}
    member = MagicMock(positions={0: 5}, in_snapshot=False)

    assert feed._admit(member) == "joined"
    assert [group.buffers for group in feed._groups.values()] == [[member.buffer]]

"""Bounded reads of a topic: large records are read in parts."""

from typing import Any

import pytest

from duolog.core.units import MIB
from duolog.runtime.browsing import log as log_module
from duolog.runtime.browsing.budget import Budget, Limits
from duolog.runtime.browsing.log import TopicLog

SIZE = 6 * MIB
VALUE = bytes(SIZE)


class Message:
    def __init__(self, partition: int, offset: int) -> None:
        self._at = partition, offset

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return self._at[0]

    def offset(self) -> int:
        return self._at[1]

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return VALUE

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class Consumer:
    """Has records without an end in each partition, one at a time by turns."""

    def __init__(self, _: object) -> None:
        self._next: dict[int, int] = {}

    def assign(self, places: list[Any]) -> None:
        self._next = {one.partition: one.offset for one in places}

    def unassign(self) -> None:
        self._next = {}

    def close(self) -> None: ...

    def consume(self, count: int, _timeout: float) -> list[Any]:
        if count > 1:
            return []
        number = min(self._next, key=lambda one: (self._next[one], one))
        self._next[number] += 1
        return [Message(number, self._next[number] - 1)]


@pytest.mark.parametrize(("completely", "records"), [(False, {0: 1, 1: 1, 2: 1}), (True, {0: 9})])
def test_large_records_are_read_in_parts_unless_all_are_needed(
    *, completely: bool, records: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "Consumer", Consumer)
    monkeypatch.setattr(log_module, "ensure_reachable", lambda _: None)
    monkeypatch.setattr(log_module, "admin_of", lambda _: None)
    brokers: Any = type("Brokers", (), {"client": lambda _, given: given})()
    ranges = dict.fromkeys(records, (0, 9))

    with TopicLog(brokers, "t", whole=True) as log:
        found = log.read(ranges, Budget(Limits(bytes=10**12)), completely=completely)

    assert {number: len(chunk.records) for number, chunk in found.items()} == records
    assert {number: chunk.reached for number, chunk in found.items()} == records

"""Looks at records by their offsets, with a fake consumer, without a broker."""

from collections.abc import Mapping
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from duolog.engine.topics.record_checks import Mark, RecordChecks, SeenRecord

AT = ("orders", 0)
END = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own codes have such names


class FakeConsumer:
    """Reads one partition: at each offset a value and a leader epoch, or the code of an error."""

    def __init__(self, records: Mapping[int, tuple[bytes, int] | int]) -> None:
        self.records = records
        self.asked: list[TopicPartition] = []
        self._read = False

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.asked += partitions
        self._read = False

    def consume(self, _count: int, timeout: float) -> list[MagicMock]:
        assert timeout > 0
        if self._read:
            return []
        self._read = True
        offsets = sorted(at for at in self.records if at >= self.asked[-1].offset)
        return [*(self._message(at) for at in offsets), _message(max(self.records) + 1, END)]

    def _message(self, offset: int) -> MagicMock:
        record = self.records[offset]
        return _message(offset, record) if isinstance(record, int) else _message(offset, *record)

    def resume(self, _partitions: list[TopicPartition]) -> None:
        """Do nothing: it does not pause."""

    pause = resume

    def unassign(self) -> None:
        """Do nothing."""


def _message(offset: int, value: bytes | int, epoch: int = -1) -> MagicMock:
    is_error = isinstance(value, int)
    message = MagicMock()
    message.topic.return_value, message.partition.return_value = AT
    message.offset.return_value, message.leader_epoch.return_value = offset, epoch
    message.error.return_value = MagicMock(code=lambda: value) if is_error else None
    message.key.return_value, message.value.return_value = None, value
    message.timestamp.return_value = (1, 1_000)
    return message


def checks_over(
    records: Mapping[int, tuple[bytes, int] | int],
) -> tuple[RecordChecks, FakeConsumer]:
    fake = FakeConsumer(records)
    consumer = cast("Consumer", cast("Any", fake))
    return RecordChecks("", {}, _opened={"error": consumer, "earliest": consumer}), fake


def seen(value: bytes, epoch: int = 3) -> SeenRecord:
    checks, _ = checks_over({9: (value, epoch)})
    return checks.last_before({AT: 10})[AT]


@pytest.mark.parametrize(
    ("mark", "asked"), [(Mark(10, 4), (10, 4)), (Mark(10, 4, 9, 3, "9f"), (9, 3))]
)
def test_a_fetch_sends_the_leader_epoch_of_the_last_record(
    mark: Mark, asked: tuple[int, int]
) -> None:
    """The broker then reports a truncated log, even if the log has since grown past the position."""
    checks, consumer = checks_over({9: (b"a", 3), 10: (b"b", 4)})

    checks.changed({AT: mark})

    assert [(one.offset, one.leader_epoch) for one in consumer.asked] == [asked]


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._LOG_TRUNCATION,  # noqa: SLF001
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
        KafkaError.OFFSET_OUT_OF_RANGE,
    ],
)
def test_a_broker_that_says_that_the_log_was_truncated_is_believed(code: int) -> None:
    checks, _ = checks_over({10: code})

    assert checks.changed({AT: Mark(10, 4)}) == {AT: "its log was truncated below offset 10"}


@pytest.mark.parametrize(
    ("now", "is_same"), [((b"a", 3), True), ((b"b", 3), False), ((b"a", 4), False)]
)
def test_a_record_is_the_same_by_content_and_leader_epoch(
    now: tuple[bytes, int], *, is_same: bool
) -> None:
    before = seen(b"a")
    checks, _ = checks_over({9: now, 10: (b"later", 4)})

    found = checks.changed({AT: Mark(10, 4, before.offset, before.leader_epoch, before.digest)})

    changed = {AT: "the record at offset 9 differs from the one that was read"}
    assert found == ({} if is_same else changed)


def test_the_last_record_before_a_position_is_none_at_the_position() -> None:
    """Between them may be a marker of a transaction, which has an offset too."""
    checks, _ = checks_over({7: (b"a", 3), 8: (b"b", 3), 10: (b"at the position", 3)})

    assert checks.last_before({AT: 10})[AT].offset == 8


def test_a_record_is_looked_for_further_back_than_the_first_look_reads() -> None:
    checks, consumer = checks_over({5: (b"a", 3)})

    assert checks.last_before({AT: 1_000})[AT].offset == 5
    assert [one.offset for one in consumer.asked] == [980, 800, 0]

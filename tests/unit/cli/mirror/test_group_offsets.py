from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from duolog.cli.mirror.group_offsets import read_committed_groups, translated
from duolog.cli.mirror.progress import Progress, copied_entry, read_entry
from duolog.core import errors as core_errors
from unit.cli.mirror.fake_kafka import CLUSTER

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

PLACE = ("orders", 0)


class Group(NamedTuple):
    group_id: str
    type: ConsumerGroupType


class Listed(NamedTuple):
    valid: list[Group]
    errors: tuple[Exception, ...] = ()


class Offsets(NamedTuple):
    topic_partitions: list[TopicPartition]


class Groups:
    """An admin client with one group, whose offsets are read with `error`."""

    def __init__(
        self, of: ConsumerGroupType, error: int | None = None, listing: Exception | None = None
    ) -> None:
        self._type, self._error, self._listing = of, error, listing

    def list_consumer_groups(self) -> Future[Listed]:
        future: Future[Listed] = Future()
        errors = () if self._listing is None else (self._listing,)
        future.set_result(Listed([Group("billing", self._type)], errors))
        return future

    def list_consumer_group_offsets(
        self, asked: Iterable[ConsumerGroupTopicPartitions]
    ) -> dict[str, Future[Offsets]]:
        (group,) = asked
        future: Future[Offsets] = Future()
        if self._error is None:
            future.set_result(Offsets([TopicPartition(*PLACE, 7)]))
        else:
            future.set_exception(KafkaException(KafkaError(self._error)))
        return {str(group.group_id): future}


def groups(client: Groups) -> list[str]:
    return list(read_committed_groups(cast("AdminClient", client), CLUSTER, None))


@pytest.mark.parametrize("of", list(ConsumerGroupType))
def test_groups_of_brokers_that_do_not_report_their_type_are_read(of: ConsumerGroupType) -> None:
    """Apache Kafka reports it since 3.8."""
    assert groups(Groups(of)) == ["billing"]


def test_a_group_without_offsets_or_deleted_in_between_is_passed_over() -> None:
    assert groups(Groups(ConsumerGroupType.UNKNOWN, error=69)) == []


def test_a_group_that_may_not_be_read_is_an_error() -> None:
    with pytest.raises(core_errors.KafkaError, match='offsets of group "billing"'):
        groups(Groups(ConsumerGroupType.CLASSIC, error=30))


@pytest.mark.parametrize(
    "error",
    [KafkaError(-195), KafkaException(KafkaError(-195))],
    ids=["KafkaError", "KafkaException"],
)
def test_a_list_of_groups_that_one_broker_does_not_answer_is_an_error(error: Exception) -> None:
    with pytest.raises(core_errors.KafkaError, match="read the list of groups") as caught:
        groups(Groups(ConsumerGroupType.CLASSIC, listing=error))

    assert caught.value.code == -195


@pytest.fixture
def progress() -> Progress:
    """Records 0 to 9 are copied to 0 to 9, and the source was read up to offset 12."""
    found = Progress()
    found.replay(copied_entry(PLACE, 0, [0, 10], records=10, checksum=1, last=0))
    found.replay(read_entry(PLACE, 12))
    return found


@pytest.mark.parametrize(
    ("committed", "while_following", "at_the_end"),
    [(3, 3, 3), (10, 11, 11), (12, 11, 11), (13, None, 11)],
)
def test_a_group_is_only_moved_to_the_end_if_its_records_are_copied(
    progress: Progress, committed: int, while_following: int | None, at_the_end: int
) -> None:
    """A group that was ahead of an interrupted copy would read records again."""
    offsets = {PLACE: TopicPartition(*PLACE, committed)}

    partial = translated(progress, offsets, {PLACE: 11}, is_complete=False)
    complete = translated(progress, offsets, {PLACE: 11}, is_complete=True)

    assert {at.offset for at in partial.values()} == ({while_following} - {None})
    assert [at.offset for at in complete.values()] == [at_the_end]

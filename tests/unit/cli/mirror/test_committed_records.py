from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import NamedTuple, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.mirror import committed_records
from duolog.cli.mirror.committed_records import read_ends

CLUSTER = Cluster("127.0.0.1:1", {})


class Offset(NamedTuple):
    offset: int


class Answers:
    """An admin client with one answer for each request."""

    def __init__(self, *answers: int | KafkaError) -> None:
        self._answers: Iterator[int | KafkaError] = iter(answers)

    def list_offsets(
        self, asked: Mapping[TopicPartition, OffsetSpec], **options: object
    ) -> dict[TopicPartition, Future[Offset]]:
        del options
        future: Future[Offset] = Future()
        match next(self._answers):
            case int(offset):
                future.set_result(Offset(offset))
            case error:
                future.set_exception(KafkaException(error))
        return dict.fromkeys(asked, future)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed_records, "_POLL_S", 0)


def test_a_partition_that_is_not_known_yet_is_asked_for_again() -> None:
    client = cast("AdminClient", Answers(KafkaError(3), KafkaError(5), KafkaError(6), 7))

    assert read_ends(client, CLUSTER, [("new", 0)]) == {("new", 0): 7}


def test_a_partition_that_stays_unknown_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed_records, "_NEW_PARTITION_S", -1)

    with pytest.raises(KafkaException):
        read_ends(cast("AdminClient", Answers(KafkaError(3))), CLUSTER, [("gone", 0)])


def test_another_error_is_not_repeated() -> None:
    with pytest.raises(KafkaException):
        read_ends(cast("AdminClient", Answers(KafkaError(29), 7)), CLUSTER, [("denied", 0)])


def test_no_partitions_need_no_request() -> None:
    assert read_ends(cast("AdminClient", Answers()), CLUSTER, []) == {}

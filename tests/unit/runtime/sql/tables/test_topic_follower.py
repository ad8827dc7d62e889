"""A follower applies records as they arrive, and stops where an answer wants it to."""

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from duolog.core.errors import KafkaError
from duolog.runtime.sql.tables import topic_follower
from duolog.runtime.sql.tables.topic_follower import THREAD, TopicFollower
from duolog.security.clients.brokers import Brokers
from duolog.testing.cluster import EmbeddedCluster
from waiting import DEADLINE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path


class Followed:
    """A topic with a producer, and the records that its follower has applied."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1) -> None:
        self.topic, self.bootstrap = topic, bootstrap
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            made.result()
        self.producer = Producer({"bootstrap.servers": bootstrap})
        self.lock = threading.Lock()
        self.values: list[bytes | None] = []
        self.follower = TopicFollower(topic, Brokers(bootstrap), self.lock, self._apply)
        self.follower.start()

    def _apply(self, messages: Sequence[Message]) -> None:
        assert self.lock.locked()
        self.values += [message.value() for message in messages]

    def write(self, *values: str, partition: int = 0) -> None:
        for value in values:
            self.producer.produce(self.topic, value.encode(), partition=partition)
        assert not self.producer.flush(DEADLINE_S)

    def wait(self, **ends: int) -> bool:
        return self.follower.wait_for({int(at[1:]): end for at, end in ends.items()}, DEADLINE_S)


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path: Path = tmp_path_factory.mktemp("follower")
    with EmbeddedCluster(path / "broker") as cluster:
        yield cluster.bootstrap_servers


def test_records_are_applied_as_they_arrive(bootstrap: str) -> None:
    followed = Followed(bootstrap, "arriving", 2)

    followed.write("a", "b")
    followed.write("c", partition=1)

    assert followed.wait(p0=2, p1=1)
    assert sorted(filter(None, followed.values)) == [b"a", b"b", b"c"]
    assert followed.follower.reached() == {0: 2, 1: 1}
    followed.follower.close()


def test_a_held_follower_applies_exactly_up_to_the_offsets(bootstrap: str) -> None:
    followed = Followed(bootstrap, "held", 2)
    followed.write("a")
    assert followed.wait(p0=1)

    followed.follower.hold()
    followed.write("b", "c", "d")
    followed.write("x", partition=1)
    # A record of another partition shows that those before it have been received.
    wait_until(lambda: len(followed.follower._received) >= 4, "received")  # noqa: SLF001
    assert followed.values == [b"a"]
    assert followed.follower.reached() == {0: 1, 1: 0}

    followed.follower.proceed({0: 3, 1: 0})
    assert followed.wait(p0=3, p1=0)
    assert followed.values == [b"a", b"b", b"c"]
    followed.follower.release()

    assert followed.wait(p0=4, p1=1)
    assert sorted(filter(None, followed.values)) == [b"a", b"b", b"c", b"d", b"x"]
    assert followed.values.index(b"c") < followed.values.index(b"d")
    followed.follower.close()


def test_a_held_follower_reaches_the_offset_of_a_commit_marker(bootstrap: str) -> None:
    followed = Followed(bootstrap, "marked")
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "marking"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("marked", b"first", partition=0)
    producer.commit_transaction()

    followed.follower.hold()
    followed.write("later")
    followed.follower.proceed({0: 2})

    assert followed.wait(p0=2)
    assert followed.values == [b"first"]
    followed.follower.close()


def test_a_wait_ends_when_the_follower_is_closed(bootstrap: str) -> None:
    followed = Followed(bootstrap, "closing")
    results: list[bool] = []
    waiter = threading.Thread(target=lambda: results.append(followed.wait(p0=9)))
    waiter.start()

    followed.follower.close()
    waiter.join(DEADLINE_S)

    assert results == [False]
    assert not any(thread.name == THREAD for thread in threading.enumerate())


def test_a_wait_ends_after_its_time(bootstrap: str) -> None:
    followed = Followed(bootstrap, "late")

    assert not followed.follower.wait_for({0: 9}, 0.05)

    followed.follower.close()


def test_a_failure_is_raised_by_every_wait(bootstrap: str) -> None:
    followed = Followed(bootstrap, "failing")

    def fail(_messages: Sequence[Message]) -> None:
        raise ZeroDivisionError

    followed.follower._apply = fail  # noqa: SLF001
    followed.write("a")

    for _ in range(2):
        with pytest.raises(KafkaError, match="failing"):
            followed.follower.wait_for({0: 1}, DEADLINE_S)
    followed.follower.close()


def test_records_beyond_the_limits_do_not_keep_out_those_before_them(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_follower, "_RECEIVED_MAX", 5)
    followed = Followed(bootstrap, "crowded", 2)
    followed.follower.hold()
    followed.write(*"abcdefgh")
    wait_until(lambda: len(followed.follower._received) >= 5, "the records")  # noqa: SLF001
    followed.write("z", partition=1)

    followed.follower.proceed({0: 0, 1: 1})

    assert followed.wait(p1=1)
    assert followed.values == [b"z"]
    followed.follower.release()
    assert followed.wait(p0=8)
    followed.follower.close()


def test_added_partitions_are_followed_from_their_first_record(bootstrap: str) -> None:
    followed = Followed(bootstrap, "growing")
    followed.write("a")
    assert followed.wait(p0=1)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions("growing", 3)])["growing"].result(DEADLINE_S)
    # The producer of the topic does not know the partition yet.
    other = Producer({"bootstrap.servers": bootstrap})
    wait_until(lambda: len(other.list_topics("growing").topics["growing"].partitions) == 3, "3")
    other.produce("growing", b"z", partition=2)
    assert not other.flush(DEADLINE_S)

    followed.follower.add_partitions([1, 2])
    followed.follower.add_partitions([0, 2])

    assert followed.wait(p0=1, p2=1)
    followed.write("b")
    assert followed.wait(p0=2)
    assert followed.values == [b"a", b"z", b"b"]
    assert followed.follower.reached() == {0: 2, 1: 0, 2: 1}
    followed.follower.close()
    followed.follower.add_partitions([3])


def test_a_partition_that_is_added_during_a_hold_is_held_too(bootstrap: str) -> None:
    followed = Followed(bootstrap, "held-growing")
    followed.follower.hold()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions("held-growing", 2)])["held-growing"].result(DEADLINE_S)
    other = Producer({"bootstrap.servers": bootstrap})
    wait_until(
        lambda: len(other.list_topics("held-growing").topics["held-growing"].partitions) == 2, "2"
    )
    other.produce("held-growing", b"z", partition=1)
    assert not other.flush(DEADLINE_S)

    followed.follower.add_partitions([1])
    wait_until(lambda: len(followed.follower._received) >= 1, "received")  # noqa: SLF001
    followed.follower.proceed(followed.follower.reached())
    assert followed.values == []
    followed.follower.release()

    assert followed.wait(p1=1)
    assert followed.values == [b"z"]
    followed.follower.close()


def test_the_progress_counts_the_records_that_were_there_at_the_start(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(topic_follower, "_REPORT_S", 0.0)
    caplog.set_level("INFO", topic_follower.__name__)
    first = Followed(bootstrap, "rebuilt", 2)
    first.write("a", "b", "c")
    first.write("d", partition=1)
    assert first.wait(p0=3, p1=1)
    first.follower.close()

    follower = TopicFollower("rebuilt", Brokers(bootstrap), threading.Lock(), lambda _: None)
    follower.start()
    assert follower.wait_for({0: 3, 1: 1}, DEADLINE_S)
    progress = follower.progress()
    first.write("e", "f")
    assert follower.wait_for({0: 5}, DEADLINE_S)

    assert (progress.topic, progress.applied, progress.total) == ("rebuilt", 4, 4)
    assert progress.is_complete
    assert follower.progress() == progress, "later records are not part of it"
    assert "read topic rebuilt: 100 % (4 of 4 offsets, " in caplog.text
    follower.close()

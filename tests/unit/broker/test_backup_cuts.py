"""The broker answers a backup with one moment of all its logs."""

from collections.abc import Callable

from duolog.broker.backups import Cuts
from duolog.log.backup.cut import CUT_FILE_NAME, REQUEST_FILE_NAME, Cut, read_answer
from duolog.log.files.disk import RealDisk, replace_file
from unit.broker.conftest import Harness


def _now(run: Callable[[], None]) -> None:
    run()


def answer_of(harness: Harness, request: str) -> Cut | None:
    """Ask for a cut, turn the loop until the request is gone, and return the answer."""
    disk, data_dir = RealDisk(), harness.broker.data_dir
    Cuts(harness.broker, disk, _now).start()
    replace_file(disk, data_dir, REQUEST_FILE_NAME, request.encode())
    harness.turn_until(lambda: not disk.exists(f"{data_dir}/{REQUEST_FILE_NAME}"))
    return read_answer(disk, data_dir, request)


def test_a_cut_has_all_topics_with_their_high_watermarks(harness: Harness) -> None:
    harness.topic("orders", 3, cleanup_policy="compact")
    client = harness.client()
    client.produce("orders", harness.batch(b"1", b"2"), partition=1)
    client.produce("orders", harness.batch(b"3"), partition=2)

    cut = answer_of(harness, "one")

    assert cut is not None
    (topic,) = cut.topics
    assert (topic.entry.name, topic.entry.partitions) == ("orders", 3)
    assert topic.entry.configs == {"cleanup.policy": "compact"}
    assert topic.ends == {1: 2, 2: 1}
    assert (cut.cluster_id, cut.leader_epoch) == (harness.broker.cluster_id, 0)
    assert cut.refused == ()


def test_records_that_are_not_acknowledged_are_not_in_a_cut(harness: Harness) -> None:
    harness.topic("orders")
    harness.client().produce("orders", harness.batch(b"1"))
    partition = harness.broker.topics.partition("orders", 0)
    partition.log.append(memoryview(bytearray(harness.batch(b"2"))))
    partition.log.write_staged()

    cut = Cuts(harness.broker, RealDisk(), _now).take()

    assert partition.log.log_end_offset == 2
    assert cut.topics[0].ends == {0: 1}


def test_an_answer_is_for_one_request(harness: Harness) -> None:
    disk, data_dir = RealDisk(), harness.broker.data_dir

    assert answer_of(harness, "one") is not None

    assert read_answer(disk, data_dir, "two") is None
    assert disk.exists(f"{data_dir}/{CUT_FILE_NAME}")


def test_a_broker_that_was_asked_can_be_asked_again(harness: Harness) -> None:
    harness.topic("orders")
    first = answer_of(harness, "one")
    harness.client().produce("orders", harness.batch(b"1"))

    second = answer_of(harness, "two")

    assert first is not None
    assert second is not None
    assert (first.topics[0].ends, second.topics[0].ends) == ({}, {0: 1})
    assert first.taken_ns < second.taken_ns

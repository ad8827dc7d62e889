from pathlib import Path
from typing import Any

import pytest

from duolog.log.errors import LogDirOffline
from duolog.record import Record, encode_batch


def test_records_appended_by_the_broker_are_replayed(open_harness: Any) -> None:
    harness = open_harness(durability="fsync")
    harness.topic("__consumer_offsets")
    heard: list[Exception | None] = []
    for value in (b"a", b"b"):
        batch = encode_batch([Record(0, 1, b"k", value)])
        harness.broker.append_internal("__consumer_offsets", 0, batch, heard.append)
    assert heard == []

    while len(heard) < 2:
        harness.turn()

    assert heard == [None, None]
    replayed = harness.broker.replay_internal("__consumer_offsets", 0)
    assert [(record.offset, record.value) for record in replayed] == [(0, b"a"), (1, b"b")]


def test_a_batch_of_the_brokers_own_is_not_taken_when_the_directory_is_offline(
    harness: Any,
) -> None:
    harness.topic("__consumer_offsets")
    harness.broker.rounds.failure = LogDirOffline("sync failed")
    heard: list[Exception | None] = []

    batch = encode_batch([Record(0, 1, b"k", b"v")])
    harness.broker.append_internal("__consumer_offsets", 0, batch, heard.append)

    assert isinstance(heard[0], LogDirOffline)
    harness.broker.rounds.failure = None


def test_old_segments_go_by_themselves(open_harness: Any) -> None:
    harness = open_harness(log_retention_check_interval_ms="100")
    harness.topic("orders", retention_ms="0", segment_bytes="1024")
    client = harness.client()
    for _ in range(5):
        client.produce("orders", harness.batch(b"x" * 600))
    harness.broker.retention.start()

    for _ in range(100):
        harness.turn()
        if harness.broker.log("orders", 0).log_start_offset == 5:
            break

    assert client.ask(2, 1, topics=[earliest("orders")]).topics[0].partitions[0].offset == 5


def earliest(topic: str) -> dict[str, Any]:
    return {"name": topic, "partitions": [{"partition_index": 0, "timestamp": -2}]}


@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_everything_acknowledged_is_there_after_a_stop(open_harness: Any, durability: str) -> None:
    harness = open_harness(durability=durability)
    harness.topic("orders")
    client = harness.client()
    for index in range(20):
        client.produce("orders", harness.batch(b"%d" % index))
    harness.stop()

    harness = open_harness()

    assert harness.broker.log("orders", 0).high_watermark == 20
    assert harness.client().fetch("orders", 19).error_code == 0


def test_a_stop_after_an_assertion_that_failed_is_not_a_clean_one(
    open_harness: Any, tmp_path: Path
) -> None:
    def fail() -> None:
        raise AssertionError("unexpected")

    mark = tmp_path / "data" / "clean-shutdown"
    for place in ("timer", "call", "loop"):
        harness = open_harness()
        if place == "timer":
            harness.broker.timers.call_later(0.0, fail)
        elif place == "call":
            harness.broker.loop.call_soon_threadsafe(fail)
        else:
            harness.broker.loop.after_round = fail
            with pytest.raises(AssertionError):
                harness.broker.run()
        harness.turn() if place != "loop" else None
        harness.stop()
        assert not mark.exists(), place
    open_harness().stop()
    assert mark.exists()
    open_harness()

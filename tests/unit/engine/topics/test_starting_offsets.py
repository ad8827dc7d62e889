"""The offsets at which an application starts to read, and how they are stored."""

from pathlib import Path

from duolog import Topology
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.topics.starting_offsets import starting_offsets
from duolog.engine.topics.topic_reader import TopicReader

SHAPE = {"tasks": 2, "stores": {}}
STARTS = {"orders": {0: 7, 1: 3}}


class Topics(TopicReader):
    """Ends at 10 in each partition; 4 is the first offset of a time."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def end_offsets(self, partition_counts, timeout_s=0.0):  # type: ignore[no-untyped-def]
        return {topic: dict.fromkeys(range(n), 10) for topic, n in partition_counts.items()}

    def offsets_at(self, partition_counts, time_ms):  # type: ignore[no-untyped-def]
        self.asked.append(time_ms)
        return {topic: dict.fromkeys(range(n), 4) for topic, n in partition_counts.items()}


def test_only_what_does_not_begin_at_its_first_record_has_a_start() -> None:
    topology = Topology("t")
    for topic, start in (("a", None), ("b", "latest"), ("c", "1 s"), ("d", 500)):
        topology.stream(topic, value=str, start=start).to(f"{topic}-out")
    topics = Topics()

    found = starting_offsets(
        topology.build().sources, topics, {"a": 1, "b": 2, "c": 1, "d": 1}, now_ms=5000
    )

    assert found == {"b": {0: 10, 1: 10}, "c": {0: 4}, "d": {0: 4}}
    assert topics.asked == [4000, 500]


def test_the_first_start_is_kept_and_positions_count_from_there(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("t", StartFacts(SHAPE, {}, {}, STARTS))
    checkpoint.pin("t", StartFacts(SHAPE, {}, {"orders": "id"}, {"orders": {0: 9, 1: 9}}))

    assert checkpoint.starts() == STARTS
    assert checkpoint.committed_positions() == checkpoint.planned_positions() == STARTS


def test_records_spark_has_read_since_then_count(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("t", StartFacts(SHAPE, {}, {}, STARTS))
    for log, entry in (("offsets", 'v1\n{}\n{"orders":{"0":8,"1":3}}'), ("commits", "v1\n{}")):
        (checkpoint.spark_dir / log).mkdir(parents=True)
        (checkpoint.spark_dir / log / "0").write_text(entry)

    assert checkpoint.committed_positions() == {"orders": {0: 8, 1: 3}}

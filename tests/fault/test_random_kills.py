"""Random topologies on real queries, killed with SIGKILL and restarted: no record is lost or counted twice.

Method: a part of the records is written, the engine starts and is killed at a random moment. At the
end, the last result of each key must equal that of the reference evaluator, which is not killed.
Only topologies are used whose last results do not depend on the boundaries of micro-batches,
according to the reference too.

The seed is printed, and a failing one can be reused: DUOLOG_SEED=123 pytest tests/fault/...
"""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.streams.in_memory import serdes_of
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import ByTopic, Given
from conformance.streams.random_cases import Case
from duolog.engine.settings import CACHE_BYTES_MAX_DEFAULT
from duolog.plan.nodes import Repartition
from duolog.testing import EmbeddedCluster
from fault.engine_process import EngineProcess, starts_micro_batches
from random_topologies.generator import GLOBAL

pytestmark = pytest.mark.spark

SEED: Final = int(os.environ.get("DUOLOG_SEED", "1"))
PROGRAM: Final = Path(__file__).with_name("random_program.py")
KILLS: Final = 2
"""In the long form; one in the short form, whose second start takes as long as a JVM needs."""
TOGETHER: Final = 3
WITHIN_S: Final = 4.0
SETTLE_TIMEOUT_S: Final = 400.0
WAIT_S: Final = 30
KEYS_MIN: Final = 4
RECORDS_MIN: Final = 15

Last = dict[tuple[str, tuple[object, ...]], object]
"""The last row of each topic and key."""


def last_of(batches: Sequence[ByTopic]) -> Last:
    return {
        (topic, record.key): record.value
        for batch in batches
        for topic, records in batch.items()
        for record in records
        if record.key is not None
    }


def expected_of(case: Case, *, every_update: bool) -> Last:
    records = list(case.records.values())
    if case.partitions == 1:
        records = [record._replace(partition=0) for record in records]
    batches = [[record] for record in records] if every_update else [records]
    cache = 0 if every_update else CACHE_BYTES_MAX_DEFAULT
    return last_of(
        run_in_reference(case.plan, batches, cache_bytes_max=cache, tasks=case.partitions)
    )


def settles(case: Case) -> bool:
    """Return True if the records alone determine the last results."""
    by_hand = any(
        getattr(node, "partitioner", None) is not None
        for node in (*case.plan.sinks, *case.plan.nodes)
    )
    moved = any(isinstance(node, Repartition) for node in case.plan.nodes)
    loaded_first = any(source.topic == GLOBAL for source in case.plan.sources)
    few = len(case.records) < RECORDS_MIN
    if few or by_hand or moved or loaded_first or case.mode not in {"micro-batch", "cache"}:
        return False
    last = expected_of(case, every_update=False)
    return len(last) >= KEYS_MIN and last == expected_of(case, every_update=True)


def cases(first: int) -> Iterator[Case]:
    return (case for seed in count(first) if settles(case := Case(seed)))


class Cluster:
    """A broker with the topics of a case; a part of the records is written at a time."""

    def __init__(self, case: Case, servers: str) -> None:
        self.case = case
        self.servers = servers
        self._sources = {source.topic: serdes_of(source) for source in case.plan.sources}
        self._sinks = {topic: serdes_of(sink) for sink in case.plan.sinks for topic in sink.topics}
        admin = AdminClient({"bootstrap.servers": servers})
        kept = {"retention.ms": "-1"}
        topics = [NewTopic(name, case.partitions, 1, config=kept) for name in self._sources]
        for made in admin.create_topics(topics).values():
            made.result(WAIT_S)

    def write(self, part: int, of: int) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        records = list(self.case.records.values())
        for record in records[len(records) * part // of : len(records) * (part + 1) // of]:
            self._send(producer, record)
        assert producer.flush(WAIT_S) == 0

    def _send(self, producer: Producer, record: Given) -> None:
        keys, values = self._sources[record.topic]
        producer.produce(
            record.topic,
            values.serialize(record.value),
            keys.serialize(record.key),
            record.partition if self.case.partitions > 1 else 0,
            timestamp=record.time,
            headers=list(record.headers),
        )

    def last(self) -> Last:
        """Return the current content of the result topics."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "last"})
        found: Last = {}
        for topic, (keys, values) in self._sinks.items():
            with contextlib.suppress(KafkaException):
                for message in _all_of(consumer, topic):
                    key = keys.deserialize(message.key())
                    if key is not None:
                        found[topic, key] = values.deserialize(message.value())
        consumer.close()
        return found


def _all_of(consumer: Consumer, topic: str) -> Iterator[Any]:
    partitions = consumer.list_topics(topic, WAIT_S).topics[topic].partitions
    for number in partitions:
        place = TopicPartition(topic, number, 0)
        _, end = consumer.get_watermark_offsets(place, WAIT_S)
        consumer.assign([place])
        at = 0
        while at < end:
            for message in consumer.consume(min(1000, end - at), 5):
                at = (message.offset() or 0) + 1
                yield message


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_killed_random_topologies_have_the_results_of_an_undisturbed_run(
    tmp_path: Path,
) -> None:
    kill(list(islice(cases(0), TOGETHER)), tmp_path, SEED, kills=1)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(1000, 11_000, 1000))
def test_more_killed_random_topologies_have_the_results_of_an_undisturbed_run(
    first: int, tmp_path: Path
) -> None:
    kill(list(islice(cases(first), TOGETHER)), tmp_path, SEED + first, kills=KILLS)


def kill(chosen: Sequence[Case], directory: Path, seed: int, *, kills: int) -> None:
    """Run these at once, each on a cluster of its own, with default settings."""
    print(f"seed {seed}, cases {[case.seed for case in chosen]}")  # noqa: T201 - a failing test shows it
    random = Random(seed)  # noqa: S311 - a seed that can be run again
    with contextlib.ExitStack() as stack:
        clusters = [
            Cluster(case, stack.enter_context(EmbeddedCluster()).bootstrap_servers)
            for case in chosen
        ]
        of = {str(cluster.case.seed): cluster.servers for cluster in clusters}
        engine = EngineProcess("", directory, "", of, program=PROGRAM)
        stack.enter_context(engine)
        for part in range(kills + 1):
            for cluster in clusters:
                cluster.write(part, kills + 1)
            engine.start("micro-batch")
            if part < kills:
                engine.wait_for(starts_micro_batches)
                time.sleep(wait_s := random.random() * WITHIN_S)
                print(f"  killed after {wait_s:.2f} s")  # noqa: T201
                engine.kill()
        for cluster in clusters:
            expected = expected_of(cluster.case, every_update=False)
            deadline = time.monotonic() + SETTLE_TIMEOUT_S
            while (found := cluster.last()) != expected and time.monotonic() < deadline:
                engine.ensure_running()
                time.sleep(0.5)
            assert found == expected, cluster.case

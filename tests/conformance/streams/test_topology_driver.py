"""Compare `TopologyDriver` with Kafka Streams' TopologyTestDriver, record by record.

Keys, values and times must be the same in the same order, for each topic. The driver does
not support headers.
"""

import pytest

from conformance.streams.comparison_cases import CASES, OF_BOTH_TABLES, Define, batches_of
from conformance.streams.oracle import KafkaStreams
from duolog import Topology
from duolog.plan.nodes import Plan
from duolog.testing import TopologyDriver
from topologies import RawRecord


def ensure_same(kafka_streams: KafkaStreams, topology: Topology, records: list[RawRecord]) -> None:
    plan = topology.build()
    batches = batches_of(plan, records, "each")
    driver = TopologyDriver(topology)
    theirs = kafka_streams.run(plan, batches, cache_bytes_max=0)

    for (record,), expected in zip(batches, theirs, strict=True):
        value = None if record.value is None else dict(zip("an", record.value, strict=True))
        driver.input_topic(record.topic).pipe_input(record.key, value, record.time)
        without_headers = {
            topic: [(one.key, one.value, one.time) for one in written]
            for topic, written in expected.items()
        }

        assert written_by(driver, plan) == without_headers, f"{topology.describe()}\n{record}"


def written_by(driver: TopologyDriver, plan: Plan) -> dict[str, list[tuple[object, ...]]]:
    """Return the output since the last call, as rows."""
    return {
        sink.topic: [
            (
                one.key if isinstance(one.key, tuple | None) else (one.key,),
                None if one.value is None else tuple(one.value.values()),
                one.timestamp_ms,
            )
            for one in driver.output_topic(sink.topic).read_records()
        ]
        for sink in plan.sinks
    }


@pytest.mark.parametrize("define", CASES, ids=lambda define: define.__name__)
def test_kafka_streams_driver_writes_the_same(kafka_streams: KafkaStreams, define: Define) -> None:
    topology = Topology(define.__name__)
    define(topology)

    ensure_same(kafka_streams, topology, OF_BOTH_TABLES)

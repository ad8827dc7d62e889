"""A scrape shows metrics of requests under the names that the JMX exporter gives to Kafka's."""

import re
import sys
from typing import Any

import pytest

from duolog.broker.metrics.exposition import exposition
from duolog.broker.metrics.text import line
from duolog.core.operating_system.portable import PORTABLE

FETCH, PRODUCE, METADATA, HEARTBEAT = 1, 0, 3, 12
_SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\]*",?)*)\})? (\S+)')


def scrape(harness: Any) -> dict[str, float]:
    """Return each sample by its name and labels; every line is well-formed and there once."""
    found: dict[str, float] = {}
    described: set[str] = set()
    for text in "".join(exposition(harness.broker)).splitlines():
        if text.startswith("# HELP "):
            name = text.split()[2]
            assert name not in described
            described.add(name)
        elif not text.startswith("# TYPE "):
            match = _SAMPLE.fullmatch(text)
            assert match, text
            key = f"{match[1]}{{{match[2]}}}" if match[2] else match[1]
            assert key not in found
            assert {match[1], re.sub("_(bucket|sum|count)$", "", match[1])} & described
            found[key] = float(match[3])
    return found


def test_records_and_bytes_come_from_the_logs_and_from_what_was_fetched(harness: Any) -> None:
    harness.topic("orders", 2)
    harness.topic("quiet")
    client = harness.client()
    batch = harness.batch(b"a", b"b", b"c")
    for partition in (0, 1, 1):
        client.produce("orders", batch, partition=partition)
    client.fetch("orders", 0, partition=1)

    found = scrape(harness)

    prefix = "kafka_server_brokertopicmetrics_"
    assert found[prefix + "messagesin_total"] == 9
    assert found[prefix + 'messagesin_total{topic="orders"}'] == 9
    assert found[prefix + 'messagesin_total{topic="quiet"}'] == 0
    assert found[prefix + 'bytesin_total{topic="orders"}'] == 3 * len(batch)
    assert found[prefix + 'bytesout_total{topic="orders"}'] == 2 * len(batch)
    assert found['kafka_log_log_logendoffset{topic="orders",partition="1"}'] == 6
    assert found['kafka_log_log_logstartoffset{topic="orders",partition="1"}'] == 0
    assert found['kafka_log_log_size{topic="orders",partition="0"}'] == len(batch)
    assert found['kafka_log_log_numlogsegments{topic="orders",partition="0"}'] == 1


def test_records_from_before_the_start_are_not_counted_again(open_harness: Any) -> None:
    harness = open_harness()
    harness.topic("orders")
    harness.client().produce("orders", harness.batch(b"a", b"b"))
    harness.stop()
    harness = open_harness()

    harness.client().produce("orders", harness.batch(b"c"))

    found = scrape(harness)
    assert found['kafka_server_brokertopicmetrics_messagesin_total{topic="orders"}'] == 1
    assert found['kafka_log_log_logendoffset{topic="orders",partition="0"}'] == 3


def test_requests_are_counted_by_api_with_their_times(harness: Any) -> None:
    harness.topic("orders")
    client, reader = harness.client(), harness.client()
    reader.send(FETCH, 11, max_wait=60_000, min_bytes=1, max_bytes=99, session_epoch=-1,
                topics=[{"topic": "orders", "partitions": [{"partition": 0}]}])  # fmt: skip
    reader.receive_nothing()
    assert (
        scrape(harness)[
            'kafka_server_delayedoperationpurgatory_purgatorysize{delayedoperation="Fetch"}'
        ]
        == 1
    )
    client.produce("orders", harness.batch(b"a"))
    reader.receive()
    client.produce("orders", harness.batch(b"a" * 300))
    client.fetch("orders", 0)
    client.ask(METADATA, 12, topics=None)
    client.ask(19, 5, topics=[], timeout=1)

    found = scrape(harness)

    versions = {"Produce": 9, "Fetch": 11, "Metadata": 12, "CreateTopics": 5}
    counts = {
        api: found[
            f'kafka_network_requestmetrics_requests_total{{request="{api}",version="{version}"}}'
        ]
        for api, version in versions.items()
    }
    assert counts == {"Produce": 2, "Fetch": 2, "Metadata": 1, "CreateTopics": 1}
    for api, count in counts.items():
        name = "kafka_network_requestmetrics_totaltimems"
        assert found[f'{name}_count{{request="{api}"}}'] == count
        assert found[f'{name}_bucket{{request="{api}",le="+Inf"}}'] == count
    assert (
        found['kafka_server_delayedoperationpurgatory_purgatorysize{delayedoperation="Fetch"}'] == 0
    )


def test_syncs_are_counted_with_their_times(open_harness: Any) -> None:
    harness = open_harness(durability="fsync")
    harness.topic("orders")
    client = harness.client()
    for _ in range(3):
        client.produce("orders", harness.batch(b"a"))

    assert scrape(harness)["kafka_log_logflushstats_logflushrateandtimems_count"] == 3


def test_with_more_partitions_than_allowed_only_sums_are_reported(open_harness: Any) -> None:
    harness = open_harness(metrics_partitions_max="3")
    harness.topic("orders", 4)

    found = scrape(harness)

    assert not [name for name in found if name.startswith("kafka_log_log_logendoffset")]
    assert found["duolog_metrics_partitions_left_out"] == 4
    assert found['kafka_server_brokertopicmetrics_messagesin_total{topic="orders"}'] == 0
    for index in range(3):
        harness.topic(f"topic-{index}")
    assert not [name for name in scrape(harness) if "topic=" in name]


def test_a_topic_with_a_name_that_needs_escapes_is_one_line() -> None:
    assert line("x", {"client": 'a"b\\c\nd'}, 1) == 'x{client="a\\"b\\\\c\\nd"} 1\n'


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka_server_replicamanager_underreplicatedpartitions", 0),
        ("kafka_server_replicamanager_partitioncount", 2),
        ("kafka_controller_kafkacontroller_activecontrollercount", 1),
        ("kafka_log_logmanager_offlinelogdirectorycount", 0),
        ("kafka_server_kafkaserver_brokerstate", 3),
    ],
)
def test_a_dashboard_for_kafka_finds_its_gauges(harness: Any, name: str, value: float) -> None:
    harness.topic("orders", 2)

    assert scrape(harness)[name] == value


def test_the_process_reports_its_memory_time_and_files(harness: Any) -> None:
    found = scrape(harness)

    assert found["process_cpu_seconds_total"] > 0
    assert 3 < found["process_open_fds"] < found["process_max_fds"]
    if sys.platform == "linux" and not PORTABLE:
        assert found["process_resident_memory_bytes"] > 10_000_000
        assert found["process_start_time_seconds"] > 1_600_000_000

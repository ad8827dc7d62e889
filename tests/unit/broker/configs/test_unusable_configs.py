"""Configs and quotas that an older or newer version stored: none of them stops a start."""

import json
import logging
from typing import Any

import pytest

from duolog.broker.log_format import LineFormatter
from duolog.log.files.checked_file import write_checked
from duolog.log.files.disk import RealDisk
from unit.broker.configs.test_config_apis import GROUP, SET, TOPIC, alter, one

SESSION = "consumer.session.timeout.ms"


@pytest.mark.parametrize(
    "case",
    [
        ("dynamic-configs", {GROUP: {"g": {SESSION: "never"}}}, "group=g"),
        ("dynamic-configs", {GROUP: {"g": {"of.tomorrow": "1"}}}, "group=g"),
        ("dynamic-configs", {99: {"x": {"of.tomorrow": "1"}}}, ""),
        ("client-quotas", [{"entity": {"user": "a"}, "quotas": {"of_tomorrow": 1.0}}], "quota="),
        ("client-quotas", [{"entity": {"ip": "x"}, "quotas": {"producer_byte_rate": 1}}], "quota="),
        ("client-quotas", [{"entity": {}, "quotas": {"producer_byte_rate": 1}}], "quota="),
    ],
)
def test_nothing_that_was_stored_for_one_resource_stops_a_start(
    open_harness: Any,
    tmp_path: Any,
    caplog: pytest.LogCaptureFixture,
    case: tuple[str, object, str],
) -> None:
    file, content, told = case
    open_harness().stop()
    write_checked(RealDisk(), str(tmp_path / "data"), file, json.dumps(content).encode())
    caplog.clear()

    harness = open_harness()

    lines = [LineFormatter().format(row) for row in caplog.records if row.levelno >= logging.ERROR]
    assert all(told in line for line in lines)
    assert bool(lines) == bool(told)
    assert harness.broker.configs.groups.integer("g", SESSION) == 45_000
    assert alter(harness.client(), GROUP, "h", (SESSION, SET, "50000")).error_code == 0


def test_a_topic_with_a_config_that_is_not_allowed_any_more_is_served_by_the_broker(
    open_harness: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The whole broker refused to start with a ConfigError."""
    harness = open_harness()
    harness.topic("orders", retention_ms="1")
    topic_id = harness.broker.topics.find("orders").id
    harness.stop()
    content = {
        "name": "orders",
        "id": str(topic_id),
        "partitions": 1,
        "configs": {"retention.ms": "soon", "segment.bytes": "2000000"},
    }
    directory = str(tmp_path / "data" / "topics" / str(topic_id))
    write_checked(RealDisk(), directory, "topic", json.dumps(content).encode())

    client = open_harness().client()

    assert one(client, TOPIC, "orders", "retention.ms") == ("-1", 1)
    assert one(client, TOPIC, "orders", "segment.bytes") == ("2000000", 1)
    assert "set it again" in caplog.text
    assert alter(client, TOPIC, "orders", ("retention.ms", SET, "5000")).error_code == 0
    assert one(client, TOPIC, "orders", "retention.ms") == ("5000", 1)

import json
import logging
from typing import Any

import pytest

from duolog.broker.log_format import JsonFormatter, LineFormatter, log_to_stderr
from duolog.broker.requests.request_log import RequestLog


def test_a_line_has_the_values_as_fields_and_stays_one_line() -> None:
    record = logging.LogRecord("duolog.broker.x", logging.INFO, "f", 1, "rolled", (), None)
    record.created = 0.5
    record.topic = "orders"
    record.reason = 'a "b"\nERROR fake'

    line = LineFormatter().format(record)

    assert line == (
        "1970-01-01T00:00:00.500Z INFO broker.x: rolled topic=orders "
        'reason="a \\"b\\"\\nERROR fake"'
    )


def test_a_line_of_json_has_every_value_as_a_field_of_its_own() -> None:
    record = logging.LogRecord("duolog.log", logging.WARNING, "f", 1, "rolled %d", (5,), None)
    record.created = 0.5
    record.topic = "or\nders"
    record.level = "a field that is called like one of the line"

    assert json.loads(JsonFormatter().format(record)) == {
        "time": "1970-01-01T00:00:00.500Z",
        "level": "WARNING",
        "logger": "log",
        "message": "rolled 5",
        "topic": "or\nders",
        "level_": "a field that is called like one of the line",
    }
    assert "\n" not in JsonFormatter().format(record)


def test_lines_below_the_level_are_not_written() -> None:
    logger = logging.getLogger("duolog")
    handler = log_to_stderr("json", "warning")
    enabled = [logger.isEnabledFor(level) for level in (logging.INFO, logging.WARNING)]
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)

    assert enabled == [False, True]
    assert isinstance(handler.formatter, JsonFormatter)


def test_the_request_log_is_turned_on_and_off(
    harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client, log = harness.client(), RequestLog(harness.broker.router.routes)

    def lines() -> list[tuple[Any, ...]]:
        client.ask(3, 12, topics=[])
        client.ask(60, 0)
        found = [record.__dict__ for record in caplog.records if record.message == "request"]
        caplog.clear()
        return [(row["api"], row["version"], row["client_id"], row["client"]) for row in found]

    with caplog.at_level(logging.INFO):
        quiet = lines()
        log.toggle()
        reported = lines()
        log.toggle()
        again = lines()

    assert (quiet, again) == ([], [])
    assert reported == [
        ("Metadata", 12, "test", "127.0.0.1:1"),
        ("DescribeCluster", 0, "test", "127.0.0.1:1"),
    ]

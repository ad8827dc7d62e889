"""Bad input closes its own connection, with one log line, and harms no other."""

import dataclasses
import gc
import logging
import weakref
from contextlib import suppress
from typing import Any

import pytest

from duolog.broker.network import receive_buffer
from duolog.broker.router import route_code
from unit.broker.conftest import Harness, fetch_fields

API_VERSIONS = 18
METADATA, DESCRIBE_CLUSTER = 3, 60


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


HEARTBEAT_V9 = b"\0\0\0\x0a" + b"\0\x0c\0\x09" + bytes(4) + b"\xff\xff"
PRODUCE_V2 = b"\0\0\0\x0a" + b"\0\0\0\x02" + bytes(4) + b"\xff\xff"
KEY_200 = b"\0\0\0\x0a" + b"\0\xc8\0\0" + bytes(4) + b"\xff\xff"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x7f\xff\xff\xff", id="too long"),
        pytest.param(b"\xff\xff\xff\xff", id="negative size"),
        pytest.param(b"\0\0\0\x01\0", id="too short"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
        pytest.param(b"\0\0\0\x08" + b"\0\x03\0\x0c" + bytes(4), id="header is cut off"),
        pytest.param(b"\0\0\0\x0c" + b"\0\x03\0\x01" + bytes(4) + b"\0\x40ab", id="client id lies"),
        pytest.param(
            b"\0\0\0\x0e" + b"\0\x03\0\x01" + bytes(4) + b"\xff\xff\x7f\xff\xff\xff",
            id="array lies",
        ),
        pytest.param(
            b"\0\0\0\x0e" + b"\0\x0c\0\x00" + bytes(4) + b"\xff\xff\x7f\xff\xff\xff",
            id="body is garbage",
        ),
        pytest.param(HEARTBEAT_V9, id="a version that is not served"),
        pytest.param(PRODUCE_V2, id="listed and not served"),
        pytest.param(KEY_200, id="a key that is not served"),
    ],
)
def test_bad_bytes_close_their_connection_and_no_other(
    harness: Any, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = harness.client(), harness.client()

    bad.send_bytes(data)

    assert bad.closed_by_broker
    assert len(warnings_of(caplog)) == 1
    assert good.ask(METADATA, 12, topics=None).brokers


def test_a_frame_that_is_cut_off_by_the_client_is_one_log_line(
    harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client = harness.client()
    client.send_bytes(client.frame(METADATA, 12, topics=None)[:-3])
    client.receive_nothing()

    client.socket.close()

    assert client.closed_by_broker
    (record,) = warnings_of(caplog)
    assert "cut off" in record.__dict__["reason"]


def test_a_size_that_is_only_claimed_costs_no_memory(harness: Any) -> None:
    client = harness.client()

    client.send_bytes((90 << 20).to_bytes(4) + b"\0\0\0\x09" + bytes(100))
    client.receive_nothing()

    assert client.connection._received.room < 100_000  # noqa: SLF001


def test_a_large_buffer_is_kept_while_it_is_used_and_then_given_back(harness: Any) -> None:
    """A new buffer for every large frame halves the throughput."""
    harness.topic("orders", max_message_bytes=str(4 << 20))
    client = harness.client()
    connection = client.connection
    batch = harness.batch(bytes(2 << 20))
    client.produce("orders", batch)
    buffer = connection._received.data  # noqa: SLF001

    client.produce("orders", batch)
    connection._maybe_give_back()  # noqa: SLF001
    kept = connection._received.data  # noqa: SLF001
    connection._maybe_give_back()  # noqa: SLF001

    assert len(buffer) > 2 << 20
    assert kept is buffer
    assert connection._received.room < 100_000  # noqa: SLF001
    assert client.produce("orders", batch).error_code == 0


@pytest.mark.parametrize("split", [1, 3, 4, 7, 20])
def test_a_frame_may_come_in_pieces(harness: Any, split: int) -> None:
    client = harness.client()
    frame = client.frame(METADATA, 12, topics=None)
    client.expect(METADATA, 12)

    client.send_bytes(frame[:split])
    client.receive_nothing()
    client.send_bytes(frame[split:])

    assert client.receive().brokers[0].host == "127.0.0.1"


def test_api_versions_lists_exactly_what_is_served(harness: Any) -> None:
    client = harness.client()

    answer = client.ask(API_VERSIONS, 3, client_software_name="test", client_software_version="1.0")

    listed = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert listed == {
        api.key: (api.advertised[0], api.advertised[-1]) for api in harness.broker.router.apis
    }
    assert listed[0][0] == 0, "librdkafka sends no compression otherwise (KAFKA-18659)"
    assert not answer.supported_features
    finalized = {row.name: row.max_version_level for row in answer.finalized_features}
    assert finalized == {"group.version": 1, "transaction.version": 2}


def test_api_versions_5_is_answered_as_kafka_does(harness: Any) -> None:
    client = harness.client()

    client.send_bytes(b"\0\0\0\x0b" + b"\0\x12\0\x05" + b"\0\0\0\x07" + b"\xff\xff\0")
    for _ in range(3):
        harness.turn()

    assert client.socket.recv(100).hex(" ", 4) == "00000010 00000007 00230000 00010012 00000004"


def test_an_invalid_client_name_is_reported(harness: Any) -> None:
    answer = harness.client().ask(
        API_VERSIONS, 3, client_software_name="a b", client_software_version="1.0"
    )

    assert answer.error_code == 42


def test_an_exception_in_a_handler_is_an_error_answer(
    harness: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr(type(harness.broker.topics), "creating", fail)
    client = harness.client()

    answer = client.ask(19, 7, topics=[{"name": "a", "num_partitions": 1, "replication_factor": 1}])

    assert [(row.name, row.error_code) for row in answer.topics] == [("a", -1)]
    assert "surprise" in caplog.text
    assert not client.closed_by_broker


def test_an_error_while_an_error_is_answered_closes_the_connection_and_not_the_broker(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("planted")

    client, other = harness.client(), harness.client()
    client.ask(DESCRIBE_CLUSTER, 0)  # Loads its schema, so that it is handled at once.
    code = route_code(DESCRIBE_CLUSTER, 0)
    api, flexible = harness.broker.router.routes[code]
    failing = dataclasses.replace(api, handle=fail), flexible
    monkeypatch.setitem(harness.broker.router.routes, code, failing)
    monkeypatch.setattr(harness.broker, "refuse", fail)
    client.send(DESCRIBE_CLUSTER, 0)

    harness.turn_until(lambda: client.connection.closed)

    assert "planted" in caplog.text
    assert harness.broker.loop.timers.failures == 1, "a stop is not a clean one"
    assert other.ask(METADATA, 12, topics=[]).brokers
    harness.broker.loop.timers.failures = 0


@pytest.mark.parametrize("error", [OSError("planted"), MemoryError()])
def test_a_request_for_which_there_is_no_memory_closes_its_connection_only(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    client, other = harness.client(), harness.client()
    monkeypatch.setattr(receive_buffer, "mmap", fail)
    with suppress(OSError):  # The broker closes the connection meanwhile.
        client.send_bytes((50 << 20).to_bytes(4) + bytes(3 << 20))

    harness.turn_until(lambda: client.connection.closed)

    assert other.ask(METADATA, 12, topics=[]).brokers


def test_a_client_that_asks_and_does_not_read_is_not_read_either(harness: Any) -> None:
    """A thousand topics answered a thousand times would be 100 MB."""
    for index in range(40):
        harness.topic(f"topic-{index}", 10)
    client = harness.client()
    frame = client.frame(METADATA, 12, topics=None)

    sent = refused = 0
    while sent < 4000 * len(frame) and refused < 20:
        try:
            sent += client.socket.send(frame)
        except BlockingIOError:
            refused += 1
            harness.turn()

    connection = client.connection
    assert sent < 4000 * len(frame)
    assert connection._received.room <= 1 << 20  # noqa: SLF001
    assert len(connection.in_flight) < 2000


def test_a_closed_connection_leaves_nothing_for_the_garbage_collector(harness: Harness) -> None:
    """The garbage collector rarely visits old objects: thousands of disconnected clients would stay."""
    harness.topic("t")
    client = harness.client()
    assert client.produce("t", harness.batch(b"v")).error_code == 0
    assert client.fetch("t", 0).error_code == 0
    client.send(1, 11, **fetch_fields("t", 1, max_wait_ms=60_000))
    client.receive_nothing()
    gone = weakref.ref(client.connection)

    gc.disable()
    try:
        client.connection.close()
        del client.connection
        harness.turn()
        harness.turn()
        assert gone() is None
    finally:
        gc.enable()

"""Spans for an OTLP collector, and queries whose collector does not respond."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

import pytest

from duolog.engine.query.metrics import Epoch
from duolog.runtime.metrics import collector as collectors
from duolog.runtime.metrics import spans
from duolog.runtime.metrics.collector import Collector
from unit.runtime.metrics.test_spans import MS, PHASES, FakeQuery

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class FakeCollector(ThreadingHTTPServer):
    """Stores the posted metrics, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.posted: list[tuple[str, dict[str, str], Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[dict[str, Any]]:
        return [
            span
            for _, _, body in self.posted
            for resource in body["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast("FakeCollector", self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if server.status == 200:
            server.posted.append((self.path, dict(self.headers.items()), body))
        self.send_response(server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    server = FakeCollector()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def running(samples: list[list[int]]) -> "RunningQuery":
    return cast("RunningQuery", cast("Any", FakeQuery(samples)))


def value(span: dict[str, Any], name: str) -> object:
    (found,) = (one["value"] for one in span["attributes"] if one["key"] == name)
    return next(iter(found.values()))


def test_an_epoch_is_exported_with_its_phases_as_children(
    collector: FakeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collector.address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")

    thread = spans.trace(running([[7], [7, 8]]))
    assert thread is not None
    thread.join(60)

    path, headers, body = collector.posted[0]
    assert (path, headers["Content-Type"]) == ("/v1/traces", "application/json")
    assert headers["Authorization"] == "Bearer x"
    (resource,) = body["resourceSpans"]
    assert value(resource["resource"], "service.name") == "sales"
    epochs = [span for span in collector.spans() if span["name"] == "epoch"]
    assert [value(one, "duolog.epoch_id") for one in epochs] == ["7", "8"]
    assert [value(one, "duolog.records_in") for one in epochs] == ["3", "3"]
    assert {value(one, "duolog.application_id") for one in epochs} == {"sales"}
    for epoch in epochs:
        assert "parentSpanId" not in epoch
        assert (int(epoch["endTimeUnixNano"]) - int(epoch["startTimeUnixNano"])) == 90 * MS
        inside = [one for one in collector.spans() if one.get("parentSpanId") == epoch["spanId"]]
        assert [one["name"] for one in inside] == ["latestOffset", "walCommit", "addBatch"]
        assert {one["traceId"] for one in inside} == {epoch["traceId"]}
    ids = [one["spanId"] for one in collector.spans()]
    assert len(set(ids)) == len(ids) == 8
    assert {len(one) for one in ids} == {16}
    assert {len(one["traceId"]) for one in epochs} == {32}


def test_rejected_spans_are_sent_again_and_reported_once(
    collector: FakeCollector, caplog: pytest.LogCaptureFixture
) -> None:
    taker = Collector(f"{collector.address}/v1/traces", {})
    reported = [spans.spans_of(Epoch(1, 1, 1000, 3, PHASES), "sales")]
    collector.status = 503
    with caplog.at_level(logging.INFO):
        assert not taker.take("sales", reported)
        assert not taker.take("sales", reported)
        collector.status = 200
        assert taker.take("sales", reported)

    warned, again = caplog.records
    assert (warned.levelname, again.levelname) == ("WARNING", "INFO")
    assert cast("Any", warned).endpoint == f"{collector.address}/v1/traces"
    assert "503" in cast("Any", warned).reason
    assert len(collector.spans()) == 4


class Flaky:
    """Takes nothing the first time."""

    def __init__(self) -> None:
        self.brought: list[int] = []

    def take(self, application_id: str, traces: Any) -> bool:
        del application_id
        self.brought.append(len(traces))
        return len(self.brought) > 1


def test_rejected_epochs_are_sent_with_the_next_ones() -> None:
    taker = Flaky()

    spans._follow(running([[1, 2], [1, 2, 3], [1, 2, 3]]), taker)  # noqa: SLF001 - the thread's work

    assert taker.brought == [2, 3]


def test_an_unreachable_endpoint_is_reported_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{port}/")

    began = time.monotonic()
    thread = spans.trace(running([[1], [1, 2]]))
    assert time.monotonic() - began < 10, "who starts a query does not wait"
    assert thread is not None
    thread.join(60)

    assert not thread.is_alive()
    (warned,) = caplog.records
    assert cast("Any", warned).endpoint == f"http://127.0.0.1:{port}/v1/traces"
    assert cast("Any", warned).application == "sales"


def test_an_endpoint_that_hangs_times_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collectors, "_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        taker = Collector(f"http://127.0.0.1:{hangs.getsockname()[1]}/v1/traces", {})

        assert not taker.take("sales", [spans.spans_of(Epoch(1, 1, 1000, 3, PHASES), "sales")])

    assert "timed out" in cast("Any", caplog.records[0]).reason


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({ENDPOINT: "127.0.0.1:4318"}, "not an HTTP address"),
        ({ENDPOINT: "grpc://collector:4317"}, "not an HTTP address"),
        ({ENDPOINT: "http://c:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only http/json"),
    ],
)
def test_an_invalid_endpoint_is_reported(
    environment: dict[str, str], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert Collector.of_environment(environment) is None

    assert said in caplog.text
    assert environment[ENDPOINT] in cast("Any", caplog.records[0]).endpoint


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {ENDPOINT: ""},
        {ENDPOINT: "http://c:1", "OTEL_SDK_DISABLED": "true"},
        {ENDPOINT: "http://c:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_no_spans_are_sent_if_tracing_is_off(environment: dict[str, str]) -> None:
    assert Collector.of_environment(environment) is None


def test_the_endpoint_for_traces_is_used_unchanged() -> None:
    names = {ENDPOINT: "http://c:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://d/x"}

    found = Collector.of_environment(names)

    assert found is not None
    assert found.url == "https://d/x"

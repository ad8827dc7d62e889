"""A broker process: its listeners, limits, descriptors, signals and reports about itself."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from duolog.runtime.broker_process import BrokerProcess
from waiting import wait_until


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


API_VERSIONS = frame(struct.pack(">hhih", 18, 0, 7, -1))


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    client = socket.create_connection((host, int(port)), timeout=60)
    client.settimeout(60)
    return client


def answers(client: socket.socket) -> bool:
    """Return True if a request on this connection is answered."""
    with contextlib.suppress(OSError):
        client.sendall(API_VERSIONS)
        return len(client.recv(4)) == 4
    return False


def log_fields(broker: BrokerProcess, message: str, **equal: str) -> dict[str, str]:
    """Return the fields of the first log line with this message."""
    for line in broker.log_path.read_text().splitlines():
        fields: dict[str, str] = json.loads(line)
        if fields["message"] == message and equal.items() <= fields.items():
            return fields
    raise AssertionError(f"no line says {message}")


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[BrokerProcess]:
    settings = {"durability": "os", "logging.format": "json", "metrics.listen": "127.0.0.1:0"}
    with BrokerProcess(tmp_path / "data", settings=settings) as process:
        yield process


def get(broker: BrokerProcess, path: str) -> str:
    address = log_fields(broker, "serving metrics")["address"]
    with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
        return str(answer.read().decode())


def both_listeners(log: Path) -> dict[str, str]:
    """Return the advertised address of each listener; nothing unless the log names two."""
    whole = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    rows = [json.loads(line) for line in whole]
    reported = {row["listener"]: row["advertised"] for row in rows if "listener" in row}
    return reported if len(reported) == 2 else {}


def test_a_client_of_each_listener_produces_and_consumes_through_it(tmp_path: Path) -> None:
    command = [
        sys.executable, "-P", "-m", "duolog", "broker", "--data", str(tmp_path / "data"),
        "--listen", "IN://127.0.0.1:0", "--listen", "OUT://127.0.0.2:0",
        "--set", "logging.format=json", "--stop-with-stdin",
    ]  # fmt: skip
    log = tmp_path / "log"
    with log.open("wb") as lines:
        broker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=lines
        )
    assert broker.stdout is not None
    assert broker.stdout.readline().startswith(b"duolog broker ready on 127.0.0.1:")
    reported = wait_until(lambda: both_listeners(log), "both listeners are logged")

    for name, address in reported.items():
        admin = AdminClient({"bootstrap.servers": address})
        (node,) = admin.list_topics(timeout=60).brokers.values()
        assert f"{node.host}:{node.port}" == address
        producer = Producer({"bootstrap.servers": address})
        producer.produce("orders", name)
        assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": reported["OUT"], "group.id": "g"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    records = [consumer.poll(60) for _ in reported]
    consumer.close()
    broker.send_signal(signal.SIGTERM)

    assert sorted(reported) == ["IN", "OUT"]
    assert reported["OUT"].startswith("127.0.0.2:")
    assert [record.value() for record in records if record] == [b"IN", b"OUT"]
    assert broker.wait(60) == 0
    for pipe in (broker.stdin, broker.stdout):
        assert pipe is not None
        pipe.close()


def test_without_descriptors_the_broker_waits_quietly_and_serves_whom_it_has(
    watched: BrokerProcess,
) -> None:
    old = connect(watched.bootstrap_servers)
    assert answers(old)
    limits = resource.prlimit(watched.pid, resource.RLIMIT_NOFILE)
    used = len(list(Path(f"/proc/{watched.pid}/fd").iterdir()))
    resource.prlimit(watched.pid, resource.RLIMIT_NOFILE, (used + 2, limits[1]))

    with contextlib.ExitStack() as clients:
        waiting = [clients.enter_context(connect(watched.bootstrap_servers)) for _ in range(6)]
        wait_until(
            lambda: "cannot accept connections now" in watched.log_path.read_text(),
            "the broker runs out of descriptors",
        )
        before = cpu_seconds(watched)
        time.sleep(1.5)
        spent = cpu_seconds(watched) - before
        assert answers(old)
        resource.prlimit(watched.pid, resource.RLIMIT_NOFILE, limits)
        assert all(answers(client) for client in waiting)
    old.close()

    assert spent < 0.3
    assert log_fields(watched, "cannot accept connections now")["level"] == "WARNING"


def cpu_seconds(broker: BrokerProcess) -> float:
    fields = Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_limits_and_idleness_close_connections(tmp_path: Path) -> None:
    settings = {"max.connections.per.ip": "3", "connections.max.idle.ms": "3000"}
    with BrokerProcess(tmp_path / "data", settings=settings) as broker, contextlib.ExitStack() as s:
        clients = [s.enter_context(connect(broker.bootstrap_servers)) for _ in range(4)]
        last_request = time.monotonic()
        served = [answers(client) for client in clients]
        gone = clients[0].recv(1000)  # The rest of the answer, then the end.
        while gone:
            gone = clients[0].recv(1000)

        assert served == [True, True, True, False]
        assert time.monotonic() - last_request > 3 / 2


def test_a_client_that_reads_no_answers_is_no_longer_read(
    watched: BrokerProcess,
) -> None:
    admin = AdminClient({"bootstrap.servers": watched.bootstrap_servers})
    admin.list_topics("orders", timeout=60)
    before = resident_bytes(watched)
    metadata = frame(struct.pack(">hhihi", 3, 1, 7, -1, -1))
    with connect(watched.bootstrap_servers) as client:
        client.setblocking(False)  # noqa: FBT003  The socket's own method.
        sent = 0
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and sent < 200 * 2**20:
            try:
                sent += client.send(metadata * 5000)
            except BlockingIOError:
                time.sleep(0.05)

        assert sent < 200 * 2**20
        assert resident_bytes(watched) - before < 32 * 2**20
        assert "orders" in admin.list_topics(timeout=60).topics


def resident_bytes(broker: BrokerProcess) -> int:
    pages = Path(f"/proc/{broker.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_the_endpoint_reports_client_requests(watched: BrokerProcess) -> None:
    producer = Producer({"bootstrap.servers": watched.bootstrap_servers})
    for _ in range(100):
        producer.produce("orders", b"x" * 100)
    assert producer.flush(60) == 0

    text = get(watched, "/metrics")

    name = "kafka_server_brokertopicmetrics_messagesin_total"
    assert f'{name}{{topic="orders"}} 100\n' in text
    assert re.search(r'requests_total\{request="Produce",version="\d+"\} [1-9]', text)
    assert json.loads(get(watched, "/health")) == {"alive": True}
    assert json.loads(get(watched, "/ready"))["ready"]


def test_the_request_log_is_turned_on_and_off_by_a_signal(watched: BrokerProcess) -> None:
    os.kill(watched.pid, signal.SIGUSR1)
    wait_until(lambda: "request log is on" in watched.log_path.read_text(), "the log is on")
    with connect(watched.bootstrap_servers) as client:
        assert answers(client)

    assert log_fields(watched, "request")["api"] == "ApiVersions"
    os.kill(watched.pid, signal.SIGUSR1)
    wait_until(lambda: "request log is off" in watched.log_path.read_text(), "the log is off")
    lines = watched.log_path.read_text().count('"request"')
    with connect(watched.bootstrap_servers) as client:
        assert answers(client)
    assert watched.log_path.read_text().count('"request"') == lines

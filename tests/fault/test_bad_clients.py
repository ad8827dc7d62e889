"""A broker process and clients that send garbage, stop halfway, or do not read their answers."""

import contextlib
import os
import random
import socket
import struct
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.runtime.broker_process import BrokerProcess

MIB = 1024 * 1024
FETCH_BYTES = 100 * MIB


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("bad-clients") / "data"
    with BrokerProcess(data_dir, settings={"durability": "os"}) as process:
        # Warm up: memory that the broker allocates for its first client is not a leak.
        assert_answers(process)
        yield process


def connect(broker: BrokerProcess) -> socket.socket:
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    client = socket.create_connection((host, int(port)), timeout=60)
    client.settimeout(60)
    return client


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def resident_bytes(broker: BrokerProcess) -> int:
    pages = Path(f"/proc/{broker.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def open_files(broker: BrokerProcess) -> int:
    return len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))


def assert_answers(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    assert len(admin.list_topics(timeout=60).brokers) == 1


def wait_for_open_files(broker: BrokerProcess, limit: int) -> None:
    deadline = time.monotonic() + 60
    while open_files(broker) > limit and time.monotonic() < deadline:
        time.sleep(0.05)
    assert open_files(broker) <= limit


def test_garbage_under_each_api_key_ends_its_connection_and_nothing_else(
    broker: BrokerProcess,
) -> None:
    files, noise = open_files(broker), random.Random(5)  # noqa: S311 - not for secrets
    for key in range(-1, 94):
        for version in (0, 4, 9, 13):
            header = struct.pack(">hhih", key, version, 7, 3) + b"abc"
            with connect(broker) as client:
                client.sendall(frame(header + noise.randbytes(noise.randrange(60))))
                # An answer or the end of the connection; a timeout here is a broker that hangs.
                with contextlib.suppress(ConnectionResetError):
                    client.recv(100)
    for _ in range(100):
        with connect(broker) as client, contextlib.suppress(OSError):
            client.sendall(noise.randbytes(noise.randrange(1, 4000)))
    wait_for_open_files(broker, files + 5)
    assert_answers(broker)


def test_idle_clients_and_half_sent_frames_cost_next_to_no_memory(broker: BrokerProcess) -> None:
    files, before = open_files(broker), resident_bytes(broker)
    with contextlib.ExitStack() as clients:
        for _ in range(200):
            clients.enter_context(connect(broker))
        for _ in range(50):
            client = clients.enter_context(connect(broker))
            client.sendall(struct.pack(">i", 50 * MIB) + bytes(10))
        assert_answers(broker)
        assert resident_bytes(broker) - before < 32 * MIB
    wait_for_open_files(broker, files + 5)


def test_clients_that_stop_reading_100_mb_hold_no_memory_and_no_other_client(
    broker: BrokerProcess,
) -> None:
    topic = f"big-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    value = os.urandom(MIB // 2)
    for _ in range(200):
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    before = resident_bytes(broker)

    name = topic.encode()
    request = frame(
        struct.pack(">hhih", 1, 4, 1, 1)
        + b"x"
        + struct.pack(">iiiib", -1, 100, 1, FETCH_BYTES, 0)
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iiqi", 1, 0, 0, FETCH_BYTES)
    )
    with contextlib.ExitStack() as clients:
        stalled = [clients.enter_context(connect(broker)) for _ in range(5)]
        for client in stalled:
            client.sendall(request * 3)
        for client in stalled:
            client.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)  # Its first answer has begun.
        assert_answers(broker)
        assert resident_bytes(broker) - before < 32 * MIB

        # One of them wakes up: its answer is whole.
        left = struct.unpack(">i", stalled[0].recv(4, socket.MSG_WAITALL))[0]
        assert left > 50 * MIB
        while left > 0:
            left -= len(stalled[0].recv(min(left, MIB)))
    assert_answers(broker)

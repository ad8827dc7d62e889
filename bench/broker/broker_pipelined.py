"""Requests per second of the broker: one-record batches, several in flight per connection.

The generator keeps `--in-flight` produce requests in flight on each of `--connections` connections,
all to one partition with acks=all, and counts the responses. It encodes the requests once and sends
them repeatedly, because it shares the machine with the broker. For each durability, prints the
median and the spread over the rounds, and the broker's CPU time per request.

Run: python bench/broker/broker_pipelined.py (keeps bench/results/broker_pipelined.json)
"""

import argparse
import os
import select
import socket
import statistics
import struct
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.common.results_file import write_result

from duolog.protocol.frames import write_frame
from duolog.protocol.headers import response_header
from duolog.protocol.wire import write_string, write_uvarint
from duolog.record import Record, encode_batch
from duolog.runtime.broker_process import BrokerProcess

TOPIC: Final = "pipelined"
PRODUCE: Final = 0
METADATA: Final = 3
VERSION: Final = 9
RECEIVE_BYTES: Final = 1 << 20


def produce_request(value_bytes: int) -> bytes:
    """Return a produce request for one record, as a frame."""
    batch = encode_batch([Record(0, round(time.time() * 1000), None, bytes(value_bytes))])
    body = (
        b"\0"  # No transactional id.
        + struct.pack(">hi", -1, 30_000)
        + b"\2"
        + write_string(TOPIC, flexible=True)
        + b"\2"
        + struct.pack(">i", 0)
        + write_uvarint(len(batch) + 1)
        + bytes(batch)
        + b"\0\0\0"
    )
    return write_frame(request_header(PRODUCE, VERSION), body)


def request_header(key: int, version: int) -> bytes:
    return struct.pack(">hhi", key, version, 1) + write_string("bench", flexible=False) + b"\0"


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    connected = socket.create_connection((host, int(port)))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def create_topic(address: str) -> None:
    """Request the topic's metadata, which creates the topic."""
    name = bytes(16) + write_string(TOPIC, flexible=True) + b"\0"
    with connect(address) as connection:
        connection.sendall(write_frame(request_header(METADATA, 12), b"\2" + name + b"\1\0\0"))
        assert connection.recv(RECEIVE_BYTES), "the broker closed the connection"


def measure(
    address: str, request: bytes, *, connections: int, in_flight: int, seconds: float
) -> float:
    """Return responses per second."""
    open_connections = [connect(address) for _ in range(connections)]
    # Size, header, [topic [partition ...]], throttle time: the same for every request.
    answer_bytes = _answer_bytes(open_connections[0], request)
    poller = select.epoll()
    by_descriptor = {connection.fileno(): connection for connection in open_connections}
    rest = dict.fromkeys(by_descriptor, 0)
    burst = request * in_flight
    for connection in open_connections:
        connection.sendall(burst)
        poller.register(connection.fileno(), select.EPOLLIN)
    received = 0
    started = time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        for descriptor, _ in poller.poll(1):
            size = len(by_descriptor[descriptor].recv(RECEIVE_BYTES)) + rest[descriptor]
            answers, rest[descriptor] = divmod(size, answer_bytes)
            received += answers
            by_descriptor[descriptor].sendall(burst[: answers * len(request)])
    for connection in open_connections:
        connection.close()
    return received / (now - started)


def _answer_bytes(connection: socket.socket, request: bytes) -> int:
    connection.sendall(request)
    answer = connection.recv(RECEIVE_BYTES)
    header = response_header(PRODUCE, VERSION, 1)
    error_at = 4 + len(header) + 1 + 1 + len(TOPIC) + 1 + 4
    (error_code,) = struct.unpack_from(">h", answer, error_at)
    assert error_code == 0, f"the broker answered with error {error_code}"
    return len(answer)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_broker(options: argparse.Namespace, durability: str) -> dict[str, object]:
    request = produce_request(options.value_bytes)
    with (
        tempfile.TemporaryDirectory(dir=options.directory) as directory,
        BrokerProcess(Path(directory) / "data", settings={"durability": durability}) as broker,
    ):
        create_topic(broker.bootstrap_servers)
        rates = []
        cpu_started, answers = cpu_seconds(broker.pid), 0.0
        for _ in range(options.rounds):
            rate = measure(
                broker.bootstrap_servers,
                request,
                connections=options.connections,
                in_flight=options.in_flight,
                seconds=options.seconds,
            )
            rates.append(rate)
            answers += rate * options.seconds
        cpu_us = (cpu_seconds(broker.pid) - cpu_started) / answers * 1e6
    return {
        "durability": durability,
        "requests_per_second": round(statistics.median(rates)),
        "least": round(min(rates)),
        "most": round(max(rates)),
        "broker_cpu_us_per_request": round(cpu_us, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, default=None, help="where the data goes")
    options = parser.parse_args()
    rows = [measure_broker(options, durability) for durability in ("os", "fsync")]
    write_result(
        "broker_pipelined",
        {
            "connections": options.connections,
            "in_flight": options.in_flight,
            "value_bytes": options.value_bytes,
            "load_average": [round(load, 1) for load in os.getloadavg()],
            "rows": rows,
        },
    )


if __name__ == "__main__":
    main()

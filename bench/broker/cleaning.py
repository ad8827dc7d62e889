"""Fetch latency of a consumer while the cleaner compacts a gigabyte of lz4 records.

Fills a compacted topic with `--gib` of lz4 batches, as stored, then starts the cleaner by lowering
min.cleanable.dirty.ratio. Meanwhile, one connection fetches 64 KiB at a time from another topic at
a steady rate, and a producer writes with acks=all. The same is measured before, with an idle
cleaner.

A sample is one request, from the first byte sent to the last byte received. The goal is a p99 of
fetches below 50 ms while the cleaner runs.
"""

import argparse
import os
import random
import socket
import struct
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from bench.common.results_file import write_result
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from duolog.core.units import GIB, KIB, MIB
from duolog.runtime.broker_process import BrokerProcess

FILLED = "filled"
READ = "read"
FETCH_BYTES = 64 * KIB
READ_BYTES = 64 * MIB
_WAIT_SECONDS = 900


class Tail(NamedTuple):
    """Percentiles of latencies in milliseconds."""

    samples: int
    p50_ms: float
    p99_ms: float
    max_ms: float


def tail(seconds: list[float]) -> Tail:
    """Return the percentiles of some latencies."""
    ordered = sorted(seconds)
    count = len(ordered)
    if not count:
        return Tail(0, 0.0, 0.0, 0.0)
    found = (ordered[count // 2], ordered[min(count - 1, int(count * 0.99))], ordered[-1])
    return Tail(count, *(round(value * 1000, 2) for value in found))


class Fetches(threading.Thread):
    """Fetches from one topic at a steady rate, starting over at its end."""

    def __init__(self, address: str, topic: str, *, rate: float) -> None:
        super().__init__(daemon=True)
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._topic = topic.encode()
        self._interval = 1 / rate
        self.seconds: list[float] = []
        self.stopped = False

    def run(self) -> None:
        offset = 0
        due = time.monotonic()
        while not self.stopped:
            due += self._interval
            time.sleep(max(0.0, due - time.monotonic()))
            began = time.perf_counter()
            records = self._fetch(offset)
            self.seconds.append(time.perf_counter() - began)
            offset = _end_offset(records) if records else 0

    def _fetch(self, offset: int) -> bytes:
        body = struct.pack(">iiiibi", -1, 0, 0, FETCH_BYTES, 0, 1)
        body += struct.pack(">h", len(self._topic)) + self._topic
        body += struct.pack(">iiqi", 1, 0, offset, FETCH_BYTES)
        head = struct.pack(">hhih", 1, 4, 7, 5) + b"bench"
        self._socket.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        (size,) = struct.unpack(">i", self._receive(4))
        answer = self._receive(size)
        # Correlation id, throttle time, one topic, its name, one partition.
        at = 4 + 4 + 4 + 2 + len(self._topic) + 4
        _, error, _, _, aborted = struct.unpack_from(">ihqqi", answer, at)
        assert error == 0, f"fetch at {offset} got error {error}"
        at += 26 + 16 * max(aborted, 0)
        return answer[at + 4 :]

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            assert piece, "the broker closed the connection"
            data += piece
        return bytes(data)


def _end_offset(records: bytes) -> int:
    """Return the offset after the last complete batch."""
    position, end = 0, 0
    while position + 61 <= len(records):
        base, length = struct.unpack_from(">qi", records, position)
        if position + 12 + length > len(records):
            break
        end = base + struct.unpack_from(">i", records, position + 23)[0] + 1
        position += 12 + length
    return end


class Produces(threading.Thread):
    """Produces single records with acks=all at a steady rate, with the broker's durability."""

    def __init__(self, address: str, *, rate: float) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "acks": "all"})
        self._interval = 1 / rate
        self.seconds: list[float] = []
        self.stopped = False

    def run(self) -> None:
        due = time.monotonic()
        while not self.stopped:
            due += self._interval
            self._producer.poll(max(0.0, due - time.monotonic()))
            began = time.perf_counter()
            done = threading.Event()
            self._producer.produce(
                "produced", b"x" * 100, callback=lambda *_, done=done: done.set()
            )
            while not done.is_set():
                self._producer.poll(0.5)
            self.seconds.append(time.perf_counter() - began)


def fill(address: str, topic: str, log_dir: Path, wanted_bytes: int, value_bytes: int) -> int:
    """Write lz4 batches until the topic has `wanted_bytes` on disk; return their records."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.size": 256 * KIB,
            "queue.buffering.max.kbytes": 64 * KIB,
        }
    )
    chance = random.Random(5)  # noqa: S311 - test data
    pieces = [chance.randbytes(value_bytes // 2) for _ in range(997)]
    padding = b"0123456789" * (value_bytes // 20)
    count = 0
    while _bytes_in(log_dir) < wanted_bytes:
        for _ in range(20_000):
            key = b"key-%d" % chance.randrange(200_000)
            value = pieces[chance.randrange(997)] + padding
            while True:
                try:
                    producer.produce(topic, value, key)
                    break
                except BufferError:
                    producer.poll(0.05)
            count += 1
        producer.flush()
    return count


def _bytes_in(directory: Path) -> int:
    """Return the size of the largest topic directory, which is that of the filled topic."""
    topics = (directory / "topics").iterdir()
    return max(sum(f.stat().st_size for f in t.glob("0/*.log")) for t in topics)


def measure(address: str, until: "Wait") -> dict[str, Tail]:
    """Return the latencies of fetches and produces until `until` returns."""
    fetches = Fetches(address, READ, rate=300)
    produces = Produces(address, rate=50)
    fetches.start()
    produces.start()
    until()
    fetches.stopped = produces.stopped = True
    fetches.join(10)
    produces.join(10)
    return {"fetch": tail(fetches.seconds), "produce": tail(produces.seconds)}


class Wait:
    """Waits for a time, or until a file contains a line."""

    def __init__(self, seconds: float, log: Path | None = None, line: str = "") -> None:
        self._seconds = seconds
        self._log = log
        self._line = line

    def __call__(self) -> None:
        end = time.monotonic() + self._seconds
        while time.monotonic() < end:
            if self._log is not None and self._line in self._log.read_text():
                return
            time.sleep(0.2)
        assert self._log is None, f"{self._line} did not come within {self._seconds} s"


def run(directory: Path, options: argparse.Namespace) -> dict[str, object]:
    """Fill the topic, measure with an idle cleaner, start the cleaner, measure again."""
    settings = {"log.cleaner.backoff.ms": "1000", "durability": options.durability}
    broker = BrokerProcess(directory / "data", settings=settings)
    broker.start()
    address = broker.bootstrap_servers
    try:
        admin = AdminClient({"bootstrap.servers": address})
        compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}
        compacted["segment.bytes"] = str(options.segment_mib * MIB)
        topics = [NewTopic(FILLED, 1, config=compacted), NewTopic(READ, 1), NewTopic("produced", 1)]
        for created in admin.create_topics(topics).values():
            created.result()
        fill(address, READ, directory / "data", READ_BYTES, options.value_bytes)
        wanted = int(options.gib * GIB)
        records = fill(address, FILLED, directory / "data", wanted, options.value_bytes)
        idle = measure(address, Wait(options.idle_seconds))
        before = _bytes_in(directory / "data")
        ratio = ConfigEntry(
            "min.cleanable.dirty.ratio", "0.01", incremental_operation=AlterConfigOpType.SET
        )
        resource = ConfigResource(ResourceType.TOPIC, FILLED, incremental_configs=[ratio])
        began = time.monotonic()
        for changed in admin.incremental_alter_configs([resource]).values():
            changed.result()
        done = Wait(_WAIT_SECONDS, broker.log_path, f"topic_partition={FILLED}-0")
        cleaning = measure(address, done)
        seconds = time.monotonic() - began
        return {
            "stored_bytes_before": before,
            "stored_bytes_after": _bytes_in(directory / "data"),
            "records": records,
            "value_bytes": options.value_bytes,
            "segment_mib": options.segment_mib,
            "durability": options.durability,
            "cleaning_seconds": round(seconds, 1),
            "stored_mb_per_second": round(before / seconds / 1e6, 1),
            "idle": {name: found._asdict() for name, found in idle.items()},
            "cleaning": {name: found._asdict() for name, found in cleaning.items()},
        }
    finally:
        broker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gib", type=float, default=1.0, help="lz4 batches to clean, as stored")
    parser.add_argument("--value-bytes", type=int, default=400)
    parser.add_argument("--segment-mib", type=int, default=256)
    parser.add_argument("--idle-seconds", type=float, default=10.0)
    parser.add_argument("--durability", choices=("fsync", "os"), default="fsync")
    parser.add_argument("--dir", default=os.environ.get("TMPDIR"), help="where the data goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as directory:
        write_result("cleaning", run(Path(directory), options))


if __name__ == "__main__":
    main()

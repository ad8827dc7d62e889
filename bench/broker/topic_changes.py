"""Longest time that one request about 1,000 topics blocks the broker's event loop.

The broker runs in this process, and its client is the other end of a socket pair. For each request,
measures the processor time of the event loop's thread per iteration, from the end of a poll to the
next one. Syncs are real (durability=fsync) and run in the controller's thread.

Run: scripts/bench topic_changes
"""

import argparse
import gc
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common.results_file import write_result

from duolog.broker.broker import Broker
from duolog.broker.network.connection import Connection
from duolog.broker.settings import BrokerSettings
from duolog.core.clock import SystemClock
from duolog.log import LogManager, RealDisk
from duolog.protocol.encoder import encoder
from duolog.protocol.messages import entity_type
from duolog.protocol.wire import write_string

CREATE, DELETE, METADATA, CONFIGS, ALTER, GROW = 19, 20, 3, 32, 44, 37
COLLECT_AFTER = 10_000
TOPIC = 2


class Harness:
    """A broker, its client, and an event loop that is driven manually."""

    def __init__(self, data_dir: Path) -> None:
        settings = BrokerSettings({"durability": "fsync"})
        clock = SystemClock()
        manager = LogManager(RealDisk(), str(data_dir), clock, settings.values)
        self.broker = Broker(log_manager=manager, clock=clock, settings=settings)
        self.near, far = socket.socketpair()
        self.near.settimeout(0)
        far.settimeout(0)
        Connection(self.broker, far, "127.0.0.1:1")

    def ask(self, key: int, version: int, **fields: Any) -> tuple[float, list[float]]:
        """Send a flexible request; return the seconds until its response, and per iteration."""
        body = encoder(entity_type(key, version, "request"))(fields)
        header = key.to_bytes(2) + version.to_bytes(2) + bytes(4)
        header += write_string("bench", flexible=False) + b"\0"
        left = memoryview((len(header) + len(body)).to_bytes(4) + header + body)
        received, rounds = b"", []
        loop, started = self.broker.loop, time.perf_counter()
        while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4]):
            left = left[_try(lambda rest=left: self.near.send(rest), 0) :]
            before = time.thread_time()
            loop.run_once(0.01)
            rounds.append(time.thread_time() - before)
            received += _try(lambda: self.near.recv(1 << 24), b"")
        return time.perf_counter() - started, rounds


def _try(call: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return call()
    except BlockingIOError:
        return otherwise


def measure(harness: Harness, count: int) -> dict[str, dict[str, float]]:
    """Return the duration and the longest iteration of each request."""
    names = [f"topic-{index}" for index in range(count)]
    new = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    named = [{"name": name, "topic_id": None} for name in names]
    resources = [{"resource_type": TOPIC, "resource_name": name} for name in names]
    change = {"name": "retention.ms", "config_operation": 0, "value": "5"}
    requests: dict[str, tuple[int, int, dict[str, Any]]] = {
        "create": (CREATE, 7, {"topics": new}),
        "metadata of all": (METADATA, 12, {"topics": None}),
        "describe configs": (
            CONFIGS,
            4,
            {"resources": [{**row, "configuration_keys": None} for row in resources]},
        ),
        "alter configs": (
            ALTER,
            1,
            {"resources": [{**row, "configs": [change]} for row in resources]},
        ),
        "add partitions": (
            GROW,
            3,
            {"topics": [{"name": name, "count": 2, "assignments": None} for name in names]},
        ),
        "delete": (DELETE, 6, {"topics": named}),
        "create by metadata": (
            METADATA,
            12,
            {"topics": named, "allow_auto_topic_creation": True},
        ),
        "delete again": (DELETE, 6, {"topics": named}),
    }
    found = {}
    for name, (key, version, fields) in requests.items():
        seconds, rounds = harness.ask(key, version, **fields)
        found[name] = {
            "seconds": round(seconds, 2),
            "longest_round_ms": round(max(rounds) * 1000, 1),
            "rounds": len(rounds),
        }
    return found


def main() -> None:
    """Measure several times, each in a broker that has processed every kind of request once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 100, 100)
    runs = []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory() as directory:
            harness = Harness(Path(directory) / "data")
            measure(harness, 3)  # The first request of each kind loads its schema.
            runs.append(measure(harness, options.topics))
            harness.broker.stop()
            harness.near.close()
            del harness
            # Remove the stopped broker, so that the next one is not slowed by its objects.
            gc.collect()
    middle = len(runs) // 2
    write_result(
        "topic_changes",
        {
            "topics": options.topics,
            "repeats": options.repeats,
            "median": {
                name: {
                    figure: sorted(run[name][figure] for run in runs)[middle]
                    for figure in runs[0][name]
                }
                for name in runs[0]
            },
            "worst_round_ms": {
                name: max(run[name]["longest_round_ms"] for run in runs) for name in runs[0]
            },
        },
    )


if __name__ == "__main__":
    main()

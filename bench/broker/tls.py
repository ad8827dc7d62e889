"""TLS: produce and fetch with and without, and handshakes, of Duolog and of Apache Kafka 4.1.2.

    round: Duolog plaintext, Kafka plaintext, Duolog TLS, Kafka TLS      after a warm-up round

Both brokers have a plaintext and a TLS listener with the same certificate (P-256), and leave the
sync to the system. A client of librdkafka writes records of 10 KiB and reads them back. Handshakes
are full ones from one client; the CPU time of the broker shows how many a core
can do. Goals of issue 27: TLS fetch 0.7 of Kafka's, produce 0.9, 1,000 handshakes per second.

Run: scripts/bench tls [--rounds 5] [--mebibytes 400]
"""

import argparse
import os
import socket
import ssl
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.broker.table.measured_brokers import KAFKA_OPTIONS, cpu_seconds
from bench.common.results_file import write_result
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.kafka.peer import KafkaPeer, free_ports
from duolog.runtime.broker_process import BrokerProcess
from duolog.security.certificates.authority import Authority

RECORD_BYTES: Final = 10 * 1024
HANDSHAKES: Final = 1000
PROTOCOLS: Final = ("plaintext", "tls")


class Target(NamedTuple):
    """A broker with both listeners."""

    name: str
    pid: int
    addresses: dict[str, str]


def properties(target: Target, protocol: str, ca: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap.servers": target.addresses[protocol]}
    if protocol == "tls":
        found |= {"security.protocol": "ssl", "ssl.ca.location": str(ca)}
    return found


def produce_and_fetch(target: Target, protocol: str, ca: Path, count: int) -> dict[str, float]:
    """Write and read `count` records; return MB/s of both."""
    given = properties(target, protocol, ca)
    topic = f"bench-{time.monotonic_ns()}"
    admin = AdminClient(given)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    value = os.urandom(RECORD_BYTES)
    failed: list[object] = []
    producer = Producer(
        given | {"linger.ms": 5, "batch.size": 1_000_000, "queue.buffering.max.kbytes": 200_000}
    )
    producer.list_topics(topic, timeout=60)
    cpu, begun = cpu_seconds(target.pid), time.monotonic()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error))
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush(120)
    produce_s, produce_cpu = time.monotonic() - begun, cpu_seconds(target.pid) - cpu
    assert failed == [None] * count, "records were not delivered"
    consumer = Consumer(
        given
        | {
            "group.id": "bench",
            "fetch.message.max.bytes": 8 << 20,
            "queued.max.messages.kbytes": 400_000,
            "check.crcs": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    cpu, begun, read = cpu_seconds(target.pid), time.monotonic(), 0
    while read < count:
        found = consumer.consume(min(1000, count - read), 60)
        assert found, "records do not come"
        read += len(found)
    fetch_s, fetch_cpu = time.monotonic() - begun, cpu_seconds(target.pid) - cpu
    consumer.close()
    admin.delete_topics([topic])[topic].result(60)
    megabytes = count * RECORD_BYTES / 1e6
    return {
        "produce_mb_per_s": megabytes / produce_s,
        "fetch_mb_per_s": megabytes / fetch_s,
        "produce_cpu_ms_per_mb": produce_cpu * 1e3 / megabytes,
        "fetch_cpu_ms_per_mb": fetch_cpu * 1e3 / megabytes,
    }


def handshakes(target: Target, ca: Path) -> dict[str, float]:
    """Make full handshakes; return how many per second, and per CPU second of the broker."""
    context = ssl.create_default_context(cafile=str(ca))
    host, _, port = target.addresses["tls"].rpartition(":")
    cpu, begun = cpu_seconds(target.pid), time.monotonic()
    for _ in range(HANDSHAKES):
        with (
            socket.create_connection((host, int(port)), timeout=60) as raw,
            context.wrap_socket(raw, server_hostname=host),
        ):
            pass
    took_s, cpu_s = time.monotonic() - begun, cpu_seconds(target.pid) - cpu
    return {
        "handshakes_per_s": HANDSHAKES / took_s,
        "handshakes_per_cpu_s": HANDSHAKES / max(cpu_s, 1e-9),
    }


@contextmanager
def brokers(directory: Path) -> Iterator[tuple[list[Target], Path]]:
    """Start both; yield them with the certificate of their authority."""
    made = Authority.create(
        directory / "certificates", hosts=("127.0.0.1", "localhost"), client="client", days=30
    ).path
    store = {"ssl.keystore.location": str(made / "server.pem"), "ssl.keystore.type": "PEM"}
    ours, theirs = free_ports(2), free_ports(3)
    with (
        _Duolog(directory / "duolog", _listeners(ours) | store | {"durability": "os"}) as duolog,
        KafkaPeer(
            directory / "kafka",
            jvm_options=("-Xms1g", "-Xmx1g", *KAFKA_OPTIONS),
            settings=_listeners(theirs[:2], f",CONTROLLER://127.0.0.1:{theirs[2]}")
            | store
            | {
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
            },
            ports=(theirs[0], theirs[2]),
        ) as kafka,
    ):
        yield (
            [
                Target("duolog", duolog.pid, _addresses(ours)),
                Target("kafka", kafka.pid, _addresses(theirs)),
            ],
            made / "ca.pem",
        )


class _Duolog(BrokerProcess):
    """A broker whose listeners are settings."""

    def __init__(self, data: Path, settings: dict[str, str]) -> None:
        super().__init__(data, settings=settings)

    def command(self) -> list[str]:
        command = super().command()
        place = command.index("--listen")
        return command[:place] + command[place + 2 :]


def _listeners(ports: list[int], more: str = "") -> dict[str, str]:
    both = f"PLAINTEXT://127.0.0.1:{ports[0]},SSL://127.0.0.1:{ports[1]}"
    return {"listeners": both + more, "advertised.listeners": both}


def _addresses(ports: list[int]) -> dict[str, str]:
    return {name: f"127.0.0.1:{port}" for name, port in zip(PROTOCOLS, ports[:2], strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mebibytes", type=int, default=400, help="written and read per run")
    options = parser.parse_args()
    count = options.mebibytes * 1024 * 1024 // RECORD_BYTES
    found: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory,
        brokers(Path(directory)) as (targets, ca),
    ):
        for number in range(options.rounds + 1):
            for protocol in PROTOCOLS:
                for target in targets:
                    figures = produce_and_fetch(target, protocol, ca, count)
                    if protocol == "tls":
                        figures |= handshakes(target, ca)
                    for figure, value in figures.items():
                        if number:
                            found.setdefault(f"{target.name}_{protocol}_{figure}", []).append(value)
    medians: dict[str, object] = {
        name: round(statistics.median(values), 3) for name, values in found.items()
    }
    for figure in ("produce_mb_per_s", "fetch_mb_per_s", "handshakes_per_s"):
        ratios = [
            ours / theirs
            for ours, theirs in zip(
                found[f"duolog_tls_{figure}"], found[f"kafka_tls_{figure}"], strict=True
            )
        ]
        medians[f"tls_ratio_{figure}"] = round(statistics.median(ratios), 3)
    write_result("tls", {"rounds": options.rounds, "mebibytes": options.mebibytes, **medians})


if __name__ == "__main__":
    main()

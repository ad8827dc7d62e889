"""Cost of checking the schema ids of records in the broker.

    row: unchecked, checked, unchecked, checked ...    one pair per round, after a warm-up pair

A broker runs a registry. One librdkafka producer writes records of 100 bytes with a schema id to
a topic of four partitions, as fast as it can. The ratio is checked / unchecked within one round;
the goal is at least 0.9.

Run: scripts/bench schema_checks --rounds 5
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.common.results_file import write_result
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

RECORDS = 500_000
VALUE_BYTES = 100
PARTITIONS = 4
CODECS = ("none", "lz4")
CHECK = "confluent.value.schema.validation"
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


@contextmanager
def servers() -> Iterator[tuple[str, str]]:
    """Start a broker with a registry; yield the addresses of both."""
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", directory]
        command += ["--listen", "127.0.0.1:0", "--registry", "127.0.0.1:0", "-c", "durability=os"]
        log = (Path(directory) / "log").open("wb")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert process.stdout is not None
        try:
            yield (
                process.stdout.readline().decode().split()[-1],
                (process.stdout.readline().decode().split()[-1]),
            )
        finally:
            process.terminate()
            process.wait(60)
            log.close()


def register(url: str, subject: str, schema: str = '"string"') -> int:
    """Register a schema and return its id."""
    body = json.dumps({"schema": schema}).encode()
    request = urllib.request.Request(  # noqa: S310 - a registry on this machine
        f"{url}/subjects/{subject}/versions", body, {"Content-Type": _MEDIA_TYPE}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        return int(json.load(answer)["id"])


def produce(bootstrap: str, topic: str, value: bytes, codec: str) -> float:
    """Write all records; return records per second."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 5,
            "queue.buffering.max.messages": RECORDS,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    started = time.perf_counter()
    for number in range(RECORDS):
        producer.produce(topic, value, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.poll(0)
    left = producer.flush(120)
    assert left == 0, f"{left} records were not delivered"
    return RECORDS / (time.perf_counter() - started)


def measure(bootstrap: str, url: str, codec: str, rounds: int) -> dict[str, object]:
    """Return the figures of one codec."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    rates: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        pair = []
        for checked in (False, True):
            topic = f"{codec}-{number}-{'checked' if checked else 'unchecked'}"
            config = {CHECK: "true"} if checked else {}
            made = admin.create_topics([NewTopic(topic, PARTITIONS, config=config)])
            made[topic].result(60)
            value = b"\0" + register(url, f"{topic}-value").to_bytes(4)
            value += bytes(VALUE_BYTES - len(value))
            pair.append(produce(bootstrap, topic, value, codec))
            admin.delete_topics([topic])[topic].result(60)
        if number:
            rates.append((pair[0], pair[1]))
    ratios = [checked / unchecked for unchecked, checked in rates]
    return {
        "codec": codec,
        "unchecked_per_s": round(statistics.median(rate for rate, _ in rates)),
        "checked_per_s": round(statistics.median(rate for _, rate in rates)),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="what the check of schema ids costs")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with servers() as (bootstrap, url):
        rows = [measure(bootstrap, url, codec, options.rounds) for codec in CODECS]
    for row in rows:
        print(row)
    write_result(
        "schema_checks",
        {"records": RECORDS, "value_bytes": VALUE_BYTES, "goal_ratio": 0.9, "rows": rows},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

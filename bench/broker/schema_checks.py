"""Cost of checking the schema ids of records in the broker.

    row: unchecked, checked, checked, unchecked ...    one pair per round, after a warm-up pair

A broker runs a registry. One librdkafka producer writes records with a schema id to a topic of
four partitions, as fast as it can. Their values have 100 bytes, or any size around it: the broker
counts records of one layout together, others one by one. The ratio is checked / unchecked within
one round; the goal is at least 0.9. Each topic is verified to have all records, and each checked
one to refuse a record whose id is not one of its subject.

Run: scripts/bench schema_checks --rounds 5
"""

import argparse
import json
import random
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
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

RECORDS = 500_000
VALUE_BYTES = 100
VARIED_BYTES = (60, 140)
SIZES = 1000
FRAME_BYTES = 5
PARTITIONS = 4
ROWS = (("none", "equal"), ("lz4", "equal"), ("none", "varied"), ("lz4", "varied"))
"""Codecs and sizes of values."""
CHECK = "confluent.value.schema.validation"
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


@contextmanager
def servers() -> Iterator[tuple[str, str]]:
    """Start a broker with a registry; yield the addresses of both."""
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        data = str(Path(directory) / "data")
        command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", data]
        command += ["--listen", "127.0.0.1:0", "--registry", "127.0.0.1:0", "-c", "durability=os"]
        file = Path(directory) / "log"
        log = file.open("wb")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline().decode().split() for _ in range(2)]
            if not all(lines):
                raise SystemExit(f"the servers did not start:\n{file.read_text()[-2000:]}")
            yield lines[0][-1], lines[1][-1]
        finally:
            process.terminate()
            process.wait(60)
            log.close()


def schema_of(topic: str) -> str:
    """Return a schema of the values that no other topic has."""
    name = topic.replace("-", "_")
    return json.dumps({"type": "fixed", "name": name, "size": VALUE_BYTES - FRAME_BYTES})


def register(url: str, subject: str, schema: str) -> int:
    """Register a schema and return its id."""
    body = json.dumps({"schema": schema}).encode()
    request = urllib.request.Request(  # noqa: S310 - a registry on this machine
        f"{url}/subjects/{subject}/versions", body, {"Content-Type": _MEDIA_TYPE}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        return int(json.load(answer)["id"])


def values_of(schema_id: int, sizes: str) -> list[bytes]:
    """Return the values that are written again and again."""
    frame = b"\0" + schema_id.to_bytes(4)
    chance = random.Random(1)  # noqa: S311 - sizes, not secrets
    least, most = VARIED_BYTES if sizes == "varied" else (VALUE_BYTES, VALUE_BYTES)
    return [frame + bytes(chance.randint(least, most) - FRAME_BYTES) for _ in range(SIZES)]


def produce(bootstrap: str, topic: str, values: list[bytes], codec: str, records: int) -> float:
    """Write the records; return records per second."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 5,
            "queue.buffering.max.messages": records,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    started = time.perf_counter()
    for number in range(records):
        producer.produce(topic, values[number % SIZES], partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.poll(0)
    left = producer.flush(120)
    assert left == 0, f"{left} records were not delivered"
    return records / (time.perf_counter() - started)


def ensure_written(admin: AdminClient, topic: str, records: int) -> None:
    """Raise a SystemExit unless a topic has all records."""
    ends = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(PARTITIONS)}
    found = sum(end.result(60).offset for end in admin.list_offsets(ends).values())
    if found != records:
        raise SystemExit(f"{topic} has {found} of {records} records")


def ensure_refused(bootstrap: str, topic: str, value: bytes) -> None:
    """Raise a SystemExit unless a topic refuses a value."""
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, value, on_delivery=lambda error, _record: errors.append(error))
    producer.flush(60)
    if [error and error.code() for error in errors] != [KafkaError.INVALID_RECORD]:
        raise SystemExit(f"{topic} does not refuse a schema of another subject: {errors}")


def measure(
    bootstrap: str, url: str, row: tuple[str, str], *, rounds: int, records: int
) -> dict[str, object]:
    """Return the figures of one codec and one choice of sizes."""
    codec, sizes = row
    foreign = b"\0" + register(url, "foreign-value", '"long"').to_bytes(4) + b"\2"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    rates: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        pair = {}
        for checked in (False, True) if number % 2 else (True, False):
            topic = f"{codec}-{sizes}-{number}-{'checked' if checked else 'unchecked'}"
            config = {CHECK: "true"} if checked else {}
            made = admin.create_topics([NewTopic(topic, PARTITIONS, config=config)])
            made[topic].result(60)
            values = values_of(register(url, f"{topic}-value", schema_of(topic)), sizes)
            pair[checked] = produce(bootstrap, topic, values, codec, records)
            ensure_written(admin, topic, records)
            if checked:
                ensure_refused(bootstrap, topic, foreign)
            admin.delete_topics([topic])[topic].result(60)
        if number:
            rates.append((pair[False], pair[True]))
    ratios = [checked / unchecked for unchecked, checked in rates]
    return {
        "codec": codec,
        "sizes": sizes,
        "unchecked_per_s": round(statistics.median(rate for rate, _ in rates)),
        "checked_per_s": round(statistics.median(rate for _, rate in rates)),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="what the check of schema ids costs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=RECORDS)
    options = parser.parse_args()
    with servers() as (bootstrap, url):
        rows = [
            measure(bootstrap, url, row, rounds=options.rounds, records=options.records)
            for row in ROWS
        ]
    for row in rows:
        print(row)
    write_result(
        "schema_checks",
        {
            "records": options.records,
            "value_bytes": VALUE_BYTES,
            "varied_bytes": VARIED_BYTES,
            "goal_ratio": 0.9,
            "rows": rows,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

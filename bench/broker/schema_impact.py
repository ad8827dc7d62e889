"""Time in which a registry reports what a new schema breaks, with 1,000 subjects.

    1,000 topics with subjects · 20 queries of one topic · 100 consumer groups · 1,000 records

The first answer also loads SQL into the registry's process. The command includes the start of
Python. Each answer must name the queries that break, and all others. The goal is less than 1 s.

Run: scripts/bench schema_impact
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.broker.schema_checks import register, servers
from bench.common.results_file import write_result
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.ksql.session import parse
from duolog.ksql.settings import Settings
from duolog.registry.client import HttpRegistry
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.engine import DEFAULT_SERVICE
from duolog.schemas.source import provide

SUBJECTS = 1000
QUERIES = 20
GROUPS = 100
RECORDS = 1000
ANSWERS = 10
COMMANDS = 5
TOPIC = "topic-0"
FIELDS = [{"name": f"f{number}", "type": "string"} for number in range(10)]
SCHEMA = json.dumps({"type": "record", "name": "Row", "fields": FIELDS})
READ = 100
"""Records that are read by default."""
BREAKS = 6
"""The exit status of the command if something breaks."""
EXPECTED = {
    ("stream", "breaks"): 1,
    ("query", "breaks"): QUERIES // len(FIELDS),
    ("query", "safe"): QUERIES - QUERIES // len(FIELDS),
    ("group", "breaks"): GROUPS,
}
CHANGED = json.dumps({"type": "record", "name": "Row", "fields": FIELDS[1:]})


def prepare(bootstrap: str, url: str, subjects: int) -> None:
    """Create topics, subjects, queries, groups and records."""
    names = [f"topic-{number}" for number in range(subjects)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, 1) for name in names]).values():
        future.result(120)
    ids = [register(url, f"{name}-value", SCHEMA) for name in names]
    provide(url, HttpRegistry(url))
    with closing(CommandTopic(bootstrap, DEFAULT_SERVICE)) as topic:
        catalog = ReplayedCatalog(topic)
        texts = [f"CREATE STREAM s WITH (kafka_topic='{TOPIC}', value_format='AVRO');"]
        queries = range(QUERIES)
        texts += [f"CREATE STREAM q{n} AS SELECT f{n % 10} FROM s;" for n in queries]  # noqa: S608
        for text in texts:
            (node,) = parse(text)
            catalog.run(node, text, Settings({"ksql.schema.registry.url": url}), lambda *_: {})
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(RECORDS):
        producer.produce(TOPIC, b"\0" + ids[0].to_bytes(4) + b"\2a" * len(FIELDS))
    assert producer.flush(60) == 0
    for number in range(GROUPS):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"group-{number}"})
        with closing(consumer):
            consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)


def ask(url: str) -> float:
    """Return the seconds until the answer, which must be right."""
    target = f"{url}/compatibility/subjects/{TOPIC}-value/versions/latest?impact=true"
    body = json.dumps({"schema": CHANGED}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(target, body, headers)  # noqa: S310 - on this machine
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        found = json.load(answer)
    seconds = time.perf_counter() - started
    ensure_right(found["impact"]["readers"])
    if found["impact"]["records"]["read"] != READ:
        raise SystemExit(f"other records were read: {found['impact']['records']}")
    return seconds


def run_command(bootstrap: str, url: str, schema: Path) -> float:
    """Return the seconds that `duolog schema impact` takes; its output must be right."""
    command = [sys.executable, "-P", "-m", "duolog", "schema", "impact", str(schema)]
    command += ["--subject", f"{TOPIC}-value", "-b", bootstrap, "--registry", url, "-o", "jsonl"]
    started = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    seconds = time.perf_counter() - started
    if ended.returncode != BREAKS:
        raise SystemExit(f"the command ended with {ended.returncode}: {ended.stderr}")
    ensure_right([json.loads(line) for line in ended.stdout.splitlines()])
    return seconds


def ensure_right(readers: list[dict[str, Any]]) -> None:
    """Raise a SystemExit unless exactly the readers of the removed field break."""
    found = Counter((one["kind"], one["verdict"]) for one in readers)
    if found != EXPECTED:
        raise SystemExit(f"wrong verdicts: {found}")


def main() -> int:
    parser = argparse.ArgumentParser(description="time of an impact analysis")
    parser.add_argument("--subjects", type=int, default=SUBJECTS)
    options = parser.parse_args()
    with servers() as (bootstrap, url), tempfile.TemporaryDirectory() as directory:
        prepare(bootstrap, url, options.subjects)
        seconds = [ask(url) for _ in range(ANSWERS)]
        schema = Path(directory) / "row.avsc"
        schema.write_text(CHANGED)
        commands = [run_command(bootstrap, url, schema) for _ in range(COMMANDS)]
    write_result(
        "schema_impact",
        {
            "subjects": options.subjects,
            "queries": QUERIES,
            "groups": GROUPS,
            "records": RECORDS,
            "first_s": round(seconds[0], 3),
            "median_s": round(statistics.median(seconds[1:]), 3),
            "longest_s": round(max(seconds[1:]), 3),
            "command_median_s": round(statistics.median(commands), 3),
            "command_longest_s": round(max(commands), 3),
            "goal_s": 1.0,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

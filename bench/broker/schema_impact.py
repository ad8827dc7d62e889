"""Time in which a registry reports what a new schema breaks, with 1,000 subjects.

    1,000 topics with subjects · 20 queries of one topic · 100 consumer groups · 1,000 records

The first answer also loads SQL into the registry's process. The goal is less than 1 s.

Run: scripts/bench schema_impact
"""

import argparse
import json
import statistics
import sys
import time
import urllib.request
from contextlib import closing

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
TOPIC = "topic-0"
FIELDS = [{"name": f"f{number}", "type": "string"} for number in range(10)]
SCHEMA = json.dumps({"type": "record", "name": "Row", "fields": FIELDS})
CHANGED = json.dumps({"type": "record", "name": "Row", "fields": FIELDS[1:]})


def prepare(bootstrap: str, url: str) -> None:
    """Create topics, subjects, queries, groups and records."""
    names = [f"topic-{number}" for number in range(SUBJECTS)]
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


def ask(url: str) -> tuple[float, str]:
    """Return the seconds until the answer, and its verdict."""
    target = f"{url}/compatibility/subjects/{TOPIC}-value/versions/latest?impact=true"
    body = json.dumps({"schema": CHANGED}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(target, body, headers)  # noqa: S310 - on this machine
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        found = json.load(answer)
    return time.perf_counter() - started, found["impact"]["verdict"]


def main() -> int:
    argparse.ArgumentParser(description="time of an impact analysis").parse_args()
    with servers() as (bootstrap, url):
        prepare(bootstrap, url)
        answers = [ask(url) for _ in range(ANSWERS)]
    assert {verdict for _, verdict in answers} == {"breaks"}
    seconds = [taken for taken, _ in answers]
    write_result(
        "schema_impact",
        {
            "subjects": SUBJECTS,
            "queries": QUERIES,
            "groups": GROUPS,
            "records": RECORDS,
            "first_s": round(seconds[0], 3),
            "median_s": round(statistics.median(seconds[1:]), 3),
            "longest_s": round(max(seconds[1:]), 3),
            "goal_s": 1.0,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Skew and compaction: a hot key, and a topic that keeps only the latest record of each key.

A key belongs to one task, so a hot key overloads one task. Counting in two steps distributes the
work: first by parts of a key, then over the parts. A compacted topic keeps the last record of each
key: it contains a complete table, but a reader of the stream misses the deleted records.
"""

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep, time

from confluent_kafka import Producer

from duolog import Application, Topology, col, concat, count, last, offset, sum_
from duolog.testing import Client, EmbeddedCluster, TopologyDriver

PARTITIONS = 4
EVENTS = 4_000
PARTS = 8
DAYS = 20
DAY_MS = 24 * 3600 * 1000
PEOPLE = {"ann": 1, "bob": 2, "cid": 5}
"""Each person moves to another city at this interval in days; dora is deleted in the end."""


def skewed() -> Topology:
    """Count clicks by page, in one step and in two."""
    topology = Topology("skewed")
    clicks = topology.stream("clicks", key="page STRING", value="user STRING")
    clicks.group_by_key().count("clicks").to("one-step")

    part = concat(col("page"), "/", (offset() % PARTS).cast(str))
    parts = clicks.select_key(part=part)
    parts.to("clicks-by-part")
    counted = parts.group_by_key().aggregate(page=last("page"), clicks=count())
    counted.to("counted-parts")
    counted.group_by("page").aggregate(clicks=sum_("clicks")).to("two-steps")
    return topology


def cities() -> Topology:
    """Read one topic as a table and as a stream."""
    topology = Topology("cities")
    table = topology.table("people", key="name STRING", value="city STRING", store="present")
    table.to("copy-of-the-table")
    stream = topology.stream("people", key="name STRING", value="city STRING")
    stream.group_by_key().materialized("moves").count("moves").to("moves-seen")
    return topology


def click(bootstrap_servers: str) -> None:
    """Write clicks, every second one on the front page."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
    for number in range(EVENTS):
        page = "front" if number % 2 else f"page-{number * 7919 % 97}"
        producer.produce("clicks", key=page, value=json.dumps({"user": f"u{number % 50}"}))
    producer.flush(30)


def show_tasks(client: Client, title: str, topic: str) -> None:
    """Print the number of records per task, which is that of a partition."""
    records = Counter(record.partition for record in client.read(topic))
    print(f"\n{title}")
    for task in range(PARTITIONS):
        print(f"  task {task}  {records[task]:5}  {'#' * (records[task] * 60 // EVENTS)}")


def hot_key(cluster: EmbeddedCluster, directory: Path) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("clicks", PARTITIONS)
    click(cluster.bootstrap_servers)
    application = Application(
        skewed(),
        bootstrap_servers=cluster.bootstrap_servers,
        data_dir=directory,
        mode="micro-batch",
    )
    with application:
        assert application.start().wait_until_caught_up(240)
        one_step, two_steps = (
            {row["page"]: row["clicks"] for row in application.table(topic).to_dicts()}
            for topic in ("one-step", "two-steps")
        )
    show_tasks(client, f"{EVENTS} clicks by page, half of them on one page:", "clicks")
    show_tasks(client, f"The same by page and one of {PARTS} parts:", "clicks-by-part")
    second = len(client.read("counted-parts"))
    print(
        f"\nThe second step adds up {second} records instead of {EVENTS}, because the record cache"
    )
    print("emits only the last count of each part. In both variants the front page has", end=" ")
    print(f"{one_step['front']} and {two_steps['front']} clicks.")
    assert one_step == two_steps
    assert sum(one_step.values()) == EVENTS
    assert second < EVENTS // 2


def move(client: Client, now_ms: int) -> None:
    for day in range(DAYS):
        at_ms = now_ms - (DAYS - day) * DAY_MS
        for name, days in PEOPLE.items():
            if day % days == 0:
                city = json.dumps({"city": f"city {day}"})
                client.produce("people", name, city, timestamp_ms=at_ms)
        if day in {0, DAYS // 2}:
            delft = json.dumps({"city": "Delft"}) if day == 0 else None
            client.produce("people", "dora", delft, timestamp_ms=at_ms)


def read_anew(client: Client, title: str) -> tuple[dict[str, str], dict[str, int]]:
    """Process the whole topic; return the table, and the number of moves seen in the stream."""
    driver = TopologyDriver(cities())
    records = client.read("people")
    for record in records:
        driver.pipe_bytes("people", record.key, record.value, record.timestamp_ms)
    table = {name: row["city"] for name, row in driver.store("present").items()}
    moves = {name: row["moves"] for name, row in driver.store("moves").items()}
    offsets = ", ".join(str(record.offset) for record in records[-7:])
    print(f"\n{title} {len(records)} records; the last ones have the offsets {offsets}")
    print(f"  the table   {table}")
    print(f"  the stream  moves seen: {moves}")
    return table, moves


def compacted(cluster: EmbeddedCluster) -> None:
    client = Client(cluster.bootstrap_servers)
    # Compaction does not process the active segment; here a segment is a day.
    configs = {"segment.ms": str(DAY_MS), "min.cleanable.dirty.ratio": "0.01"}
    client.create_topic("people", 1, {"cleanup.policy": "compact", **configs})
    move(client, int(time() * 1000))
    written = len(client.read("people"))
    before = read_anew(client, "Before compaction the topic has")
    give_up = monotonic() + 30
    while len(client.read("people")) > written // 3:
        assert monotonic() < give_up, "the topic was not compacted within 30 seconds"
        sleep(0.1)
    after = read_anew(client, "After compaction it has")
    assert before[0] == after[0]
    assert sum(after[1].values()) < sum(before[1].values())


def main() -> None:
    settings = {"log.cleaner.backoff.ms": "200"}
    with TemporaryDirectory() as directory, EmbeddedCluster(settings=settings) as cluster:
        hot_key(cluster, Path(directory))
        compacted(cluster)
    print(
        "\nNote: more tasks do not help with a hot key, because a key is in one task. Splitting the"
    )
    print(
        "key does, if partial results can be merged. A compacted topic is sufficient for a table,"
    )
    print("but not for a stream: to count events, use a topic that keeps them.")


if __name__ == "__main__":
    main()

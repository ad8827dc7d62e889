"""All kinds of windows on Spark, in both modes and over two starts, against the reference evaluator.

The test compares the table of each topic, and the number of late records.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.modes import TWO_STARTS, Modes
from duolog import (
    Topology,
    avg,
    calendar,
    count,
    max_,
    session,
    sliding,
    sum_,
    tumbling,
    unlimited,
)
from duolog.engine import Engine, EngineConfig
from duolog.engine.topics.topic_reader import TopicReader
from duolog.plan.nodes import Plan
from duolog.runtime.committed_stores import CommittedStores
from duolog.runtime.store_rows import Bounds, StoreRows, tables_by_store
from duolog.runtime.store_view import StoreView
from duolog.testing import Client, EmbeddedCluster
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord, latest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

WAIT_S: Final = 120
AT_MS: Final = 1_774_739_000_000  # the evening before daylight saving time starts
MINUTE_MS: Final = 60_000
USERS: Final = ("ann", "bob", "cat")
SINKS: Final = ("sessions", "bursts", "days", "shifts", "ever", "both")
LOOKED_INTO: Final = ("session-rows", "day-rows")


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


def topology() -> Topology:
    found = Topology("kinds")
    grouped = found.stream("visits", key="user STRING", value="n BIGINT").group_by_key()
    of_sessions = grouped.windowed_by(session("25 minutes", grace="1 hour"))
    of_sessions.materialized("session-rows").aggregate(c=count(), mean=avg("n"), most=max_("n")).to(
        "sessions"
    )
    grouped.windowed_by(sliding("30 minutes", grace="2 hours")).count("c").to("bursts")
    days = calendar("day", time_zone="Europe/Berlin", grace="1 hour")
    per_day = grouped.windowed_by(days).materialized("day-rows", retention="54 hours").count("c")
    per_day.to("days")
    grouped.windowed_by(tumbling("8 hours", offset="6 hours")).count("c").to("shifts")
    grouped.windowed_by(unlimited()).aggregate(total=sum_("n")).to("ever")
    per_day.outer_join(grouped.windowed_by(days).aggregate(total=sum_("n"))).to("both")
    return found


def records(first: int, count: int) -> list[SourceRecord]:
    """Return records with mostly rising times; some are hours late, some have null values."""
    found = []
    for number in range(first, first + count):
        back = 400 * MINUTE_MS if number % 17 == 0 else number * 7 % 40 * MINUTE_MS
        value = None if number % 23 == 0 else json.dumps({"n": number % 10}).encode()
        at = AT_MS + number * 11 * MINUTE_MS - back
        key = USERS[number * number % 5 % len(USERS)].encode()
        found.append(SourceRecord("visits", 0, number, at, key, value))
    return found


@TWO_STARTS
def test_all_kinds_of_windows_equal_the_reference_evaluator(
    spark: SparkSession, cluster: EmbeddedCluster, tmp_path: Path, modes: Modes
) -> None:
    assert spark is not None, "the engine finds the session of this run"
    client = Client(cluster.bootstrap_servers)
    for topic in ("visits", *SINKS):
        client.create_topic(topic)
    plan = topology().build()
    engine = Engine(EngineConfig(cluster.bootstrap_servers, tmp_path))
    reference = ReferenceEvaluator(plan)
    written: list[SinkRecord] = []
    late = 0

    for first, mode in zip((0, 150), modes, strict=True):
        given = records(first, 150)
        for record in given:
            client.produce("visits", record.key, record.value, timestamp_ms=record.timestamp_ms)
        query = engine.start(plan, "kinds", mode)
        assert query.wait_until_caught_up(WAIT_S)
        late += sum(query.progress().late.values())
        query.stop()
        assert query.exception() is None
        written += reference.run(given)

    assert late > 20
    for topic in SINKS:
        assert table(client, topic) == latest(written, topic), topic
    for store in LOOKED_INTO:
        ensure_same_rows(engine, plan, reference, store)


def ensure_same_rows(engine: Engine, plan: Plan, reference: ReferenceEvaluator, store: str) -> None:
    """Query a store's committed rows as a user does: all, and by key and time."""
    of = tables_by_store(plan)[store]
    stores = CommittedStores()

    def read(bounds: Bounds) -> StoreRows:
        return stores.rows(of, engine.committed_store(plan, "kinds", of), bounds)

    view = StoreView(of, read)
    expected = StoreRows(of, reference.rows(of))

    found = view.all()

    assert len(found) > 0
    assert found == expected
    topics = TopicReader(engine.config.bootstrap_servers, engine.config.client_options)
    ends = topics.end_offsets(topics.partition_counts(["visits"]))
    assert found.position == view.range().position == ends, "all that there is was committed"
    key: Any = list(found)[-1]
    assert found.timestamp_ms(key) == expected.timestamp_ms(key)
    user, start, _ = key
    assert view.fetch(user, from_ms=start) == expected.fetch(user, from_ms=start)
    assert view.prefix_scan(user[:1]) == expected.prefix_scan(user[:1])


def table(client: Client, topic: str) -> dict[bytes | None, bytes]:
    found: dict[bytes | None, bytes] = {}
    for record in client.read(topic):
        found.pop(record.key, None)
        if record.value is not None:
            assert record.key is not None
            found[record.key] = record.value
    return found

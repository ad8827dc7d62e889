"""Throughput of each operator, compared with the same operator in Kafka Streams.

Records are JSON in and out, keys are random, and topics have two partitions; rates are measured as
in `streams_comparison.py`. Both sides use their default record cache, except for `table-table` and
`aggregate-every-update`, which emit every update. Results of a foreign-key join are delayed: there
Kafka Streams commits once per second, and the run ends with its last result. Each row is stored in
a separate file.

The number of results is reported with the rate: Kafka Streams' cache emits at a commit, every 30 s,
Duolog's at the end of each micro-batch.

The demo's topology (stream-table join, then an aggregate by key) is measured by
`bench/engine/throughput.py`.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bench.common.results_file import write_result
from bench.engine.streams_comparison import (
    Cluster,
    Figures,
    Record,
    compile_streams,
    in_turns,
    run_duolog,
    run_streams,
)

from duolog import Topology, col, count, hopping, session, sum_, tumbling
from duolog.dsl.streams import Grouped, Stream
from duolog.runtime.broker_process import BrokerProcess

BEGIN_MS: Final = 1_700_000_000_000 // 3_600_000 * 3_600_000
MINUTE_MS: Final = 60_000
GRACE_MS: Final = 1_000
CHILDREN: Final = 10
"""Number of left rows per right row in the foreign-key join."""


# ── records ──


def key_of(number: int) -> str:
    return f"key-{number:07}"


def events_of(keys: int, events: int, step_ms: int = 1, name: str = "n") -> Iterator[Record]:
    """Yield events of random keys, one every `step_ms`."""
    rng = random.Random(f"{keys} {name}")  # noqa: S311 - nothing secret
    for number in range(events):
        value = json.dumps({name: number % 100})
        yield key_of(rng.randrange(keys)), value, BEGIN_MS + number * step_ms


def rows_of(keys: int) -> Iterator[Record]:
    """Yield a row of a table for each key, before all events."""
    for number in range(keys):
        yield key_of(number), json.dumps({"m": number % 100}), BEGIN_MS - 1


def children_of(keys: int, events: int) -> Iterator[Record]:
    """Yield rows and updates of the left table, which gets ten of eleven updates."""
    rng = random.Random(keys)  # noqa: S311 - nothing secret
    for number in range(events * CHILDREN // (CHILDREN + 1)):
        child = rng.randrange(keys)
        value = json.dumps({"parent": key_of(child // CHILDREN), "n": number % 100})
        yield key_of(child), value, BEGIN_MS + number


def parents_of(keys: int, events: int) -> Iterator[Record]:
    return events_of(keys // CHILDREN, events // (CHILDREN + 1), CHILDREN, "m")


@dataclass(frozen=True)
class Topic:
    """An input topic of some rows."""

    name: str
    records: Callable[[int], Iterator[Record]]
    """Number of events → its records."""
    is_event: bool = True
    """True if its records count for Kafka Streams' rate."""


def events_topic(keys: int) -> Topic:
    return Topic(f"events-{keys}", lambda events: events_of(keys, events))


ROWS_TOPIC: Final = Topic("rows", lambda _events: rows_of(100_000), is_event=False)
LEFT: Final = Topic("left", lambda events: events_of(100_000, events // 2, 2))
RIGHT: Final = Topic("right", lambda events: events_of(100_000, events // 2, 2, "m"))
CHILD: Final = Topic("children", lambda events: children_of(100_000, events))
PARENT: Final = Topic("parents", lambda events: parents_of(100_000, events))


# ── rows ──


@dataclass(frozen=True)
class Row:
    """A row of the table: the same work for both sides."""

    goal: float | None
    topics: tuple[Topic, ...]
    build: Callable[..., Any]
    """Creates the stream or table of results from the topology and the topic names."""
    program: str
    """Name of the row in `Operators.java`."""
    options: dict[str, object] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def topology(self, name: str) -> Topology:
        topology = Topology(name)
        names = (topic.name for topic in self.topics)
        self.build(topology, *names).to(f"{name}-results", partitions=2)
        return topology


def event_stream(topology: Topology, topic: str) -> Stream:
    return topology.stream(topic, key="id STRING", value="n BIGINT")


def stateless(topology: Topology, topic: str) -> Any:
    events = event_stream(topology, topic).filter(col("n") >= 20)
    return events.map_values("n", doubled=col("n") * 2)


def counted(grouped: Grouped) -> Any:
    return grouped.aggregate(records=count(), total=sum_("n"))


def aggregate(topology: Topology, topic: str) -> Any:
    return counted(event_stream(topology, topic).group_by_key())


def stream_table(topology: Topology, topic: str, rows: str) -> Any:
    table = topology.table(rows, key="id STRING", value="m BIGINT")
    return event_stream(topology, topic).join(table)


def table_table(topology: Topology, left: str, right: str) -> Any:
    table = topology.table(left, key="id STRING", value="n BIGINT")
    return table.join(topology.table(right, key="id STRING", value="m BIGINT"))


def foreign_key(topology: Topology, children: str, parents: str) -> Any:
    table = topology.table(children, key="id STRING", value="parent STRING, n BIGINT")
    other = topology.table(parents, key="parent_id STRING", value="m BIGINT")
    return table.join(other, on="parent", select=["n", "m"])


def stream_stream(topology: Topology, left: str, right: str) -> Any:
    others = topology.stream(right, key="id STRING", value="m BIGINT")
    return event_stream(topology, left).join(others, within="1 minute", grace=f"{GRACE_MS} ms")


def window_row(
    goal: float | None, keys: int, size_ms: int, advance_ms: int = 0, *, close: bool = False
) -> Row:
    """Return the row of windows; without an advance they are sessions."""
    grace = f"{GRACE_MS} ms"
    windows = (
        hopping(f"{size_ms} ms", f"{advance_ms} ms", grace=grace)
        if advance_ms not in (0, size_ms)
        else (tumbling if advance_ms else session)(f"{size_ms} ms", grace=grace)
    )

    def build(topology: Topology, topic: str) -> Any:
        grouped = event_stream(topology, topic).group_by_key()
        return counted(grouped.windowed_by(windows, emit="on close" if close else "on update"))

    options = {
        "size_ms": size_ms,
        "advance_ms": advance_ms,
        "grace_ms": GRACE_MS,
        "close": str(close).lower(),
    }
    return Row(goal, (events_topic(keys),), build, "window" if advance_ms else "session", options)


EVERY_UPDATE: Final = {"statestore.cache.max.bytes": "0"}
STREAMS_EVERY_UPDATE: Final = {f"set.{name}": value for name, value in EVERY_UPDATE.items()}


def aggregate_row(goal: float | None, keys: int, *, every_update: bool = False) -> Row:
    topics = (events_topic(keys),)
    if every_update:
        return Row(goal, topics, aggregate, "aggregate", dict(STREAMS_EVERY_UPDATE), EVERY_UPDATE)
    return Row(goal, topics, aggregate, "aggregate")


ROWS: Final = {
    "stateless": Row(1.3, (events_topic(100_000),), stateless, "stateless"),
    "aggregate-100k": aggregate_row(2.0, 100_000),
    "aggregate-1m": aggregate_row(1.5, 1_000_000),
    "aggregate-every-update": aggregate_row(None, 100_000, every_update=True),
    "stream-table": Row(1.5, (events_topic(100_000), ROWS_TOPIC), stream_table, "stream-table"),
    "table-table": Row(
        1.2,
        (LEFT, RIGHT),
        table_table,
        "table-table",
        dict(STREAMS_EVERY_UPDATE),
        EVERY_UPDATE,
    ),
    "foreign-key": Row(
        1.2,
        (CHILD, PARENT),
        foreign_key,
        "foreign-key",
        {"settle_ms": 4_000, "set.commit.interval.ms": 1_000},
    ),
    "tumbling": window_row(1.5, 1_000, MINUTE_MS, MINUTE_MS),
    "hopping": window_row(1.5, 1_000, 5 * MINUTE_MS, MINUTE_MS),
    "session": window_row(1.2, 10_000, 10_000),
    "stream-stream": Row(
        1.2,
        (LEFT, RIGHT),
        stream_stream,
        "stream-stream",
        {"size_ms": MINUTE_MS, "grace_ms": GRACE_MS},
    ),
    "tumbling-on-close": window_row(None, 1_000, MINUTE_MS, MINUTE_MS, close=True),
    "session-on-close": window_row(None, 10_000, 10_000, close=True),
}


def guaranteed(row: Row) -> Row:
    """Return the row with exactly-once processing on both sides."""
    options = row.options | {"set.processing.guarantee": "exactly_once_v2"}
    settings = row.settings | {"processing.guarantee": "exactly_once_v2"}
    return replace(row, options=options, settings=settings)


class Comparison:
    """Measures rows on one broker; a topic is written before the first row that reads it."""

    def __init__(self, cluster: Cluster, work: Path, options: argparse.Namespace) -> None:
        self._cluster = cluster
        self._work = work
        self._options = options
        self._written: dict[str, int] = {}
        self._classes = work / "classes"
        compile_streams(self._classes)

    def run(self, name: str) -> Figures:
        row = ROWS[name]
        for topic in row.topics:
            if topic.name not in self._written:
                self._write(topic)
        events = sum(self._written[topic.name] for topic in row.topics if topic.is_event)
        self._cluster.create(f"{name}-streams")
        print(name, flush=True)
        if not self._options.exactly_once:
            found = in_turns(
                self._options.rounds,
                lambda number: self._duolog(row, f"{name}-{number}"),
                lambda _number: self._streams(row, f"{name}-streams", events),
            )
            return {"events": events, "goal": row.goal, **found}
        others: list[Figures] = []

        def exactly_once_and_not(number: int) -> Figures:
            once = self._duolog(guaranteed(row), f"{name}-once-{number}")
            others.append(self._duolog(row, f"{name}-{number}"))
            return once

        found = in_turns(
            self._options.rounds,
            exactly_once_and_not,
            lambda _number: self._streams(guaranteed(row), f"{name}-streams", events),
        )
        shares = [
            one["events_per_second"] / other["events_per_second"]
            for one, other in zip(found["duolog"], others, strict=True)
        ]
        return {
            "events": events,
            "goal": 1.5,
            "goal_beside_at_least_once": 0.85,
            **found,
            "duolog_at_least_once": others,
            "share_of_at_least_once": [round(share, 2) for share in shares],
        }

    def _write(self, topic: Topic) -> None:
        self._cluster.create(topic.name)
        records = topic.records(self._options.events)
        self._written[topic.name] = self._cluster.write(topic.name, records)

    def _duolog(self, row: Row, name: str) -> Figures:
        settings = {"max.offsets.per.trigger": str(self._options.micro_batch), **row.settings}
        topology = row.topology(name)
        found = run_duolog(topology, self._cluster.servers, self._work / name, settings)
        return found | {"results": self._cluster.count(f"{name}-results")}

    def _streams(self, row: Row, result: str, events: int) -> Figures:
        sides = dict(zip(("source", "other"), (topic.name for topic in row.topics), strict=False))
        before = self._cluster.count(result)
        found = run_streams(
            self._classes,
            "Operators",
            row.program,
            bootstrap=self._cluster.servers,
            work=self._work,
            events=events,
            warm_up=min(self._options.micro_batch, events // 2),
            result=result,
            **sides,
            **row.options,
        )
        return found | {"results": self._cluster.count(result) - before}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", default=",".join(ROWS), help="which ones, with commas")
    parser.add_argument("--events", type=int, default=3_000_000, help="of both sides of a join")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--micro-batch", type=int, default=500_000, help="records in a micro-batch")
    parser.add_argument(
        "--exactly-once",
        action="store_true",
        help="exactly-once on both sides, and also Duolog's at-least-once",
    )
    options = parser.parse_args()
    suffix = "_exactly-once" if options.exactly_once else ""
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            comparison = Comparison(Cluster(broker.bootstrap_servers), work, options)
            for name in options.rows.split(","):
                write_result(f"operators_{name}{suffix}", comparison.run(name))


if __name__ == "__main__":
    main()

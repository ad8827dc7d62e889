"""Foreign-key joins of joins, of counts, and of a table with tables derived from it.

For each cut of a plan and each order of records in its tasks: after a micro-batch, the tables
follow from the last rows of the topics. The plans are also lowered for the engine.
"""

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest

from duolog import Topology, col
from duolog.dsl.streams import Table
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.stores.store_layouts import shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Source, TableJoin, ancestors
from duolog.testing.reference import ReferenceEvaluator, SourceRecord, latest

Rows = dict[str, dict[str, Any]]
Made = Callable[[dict[str, Rows]], Rows]
TOPICS: Final = ("t1", "t2")
KEYS: Final = ("x", "y", "z")


class Grown:
    """Tables of `k STRING` with the columns a STRING, n BIGINT, and the expected content of each."""

    def __init__(self, drawn: random.Random) -> None:
        self.topology = Topology("grown")
        self._drawn = drawn
        self.tables: list[tuple[Table, Made]] = [
            (self.topology.table(t, key="k STRING", value="a STRING, n BIGINT"), _topic(t))
            for t in TOPICS
        ]

    def grow(self) -> None:
        table, made = self._drawn.choice(self.tables)
        match self._drawn.randrange(6):
            case 0:
                self._add(table.filter(col("n") > 1), _filtered(made))
            case 1:
                counted = table.group_by(g=col("a")).count("n").filter(col("n") > 0)
                self._add(counted.map_values(a=col("g"), n=col("n")), _counted(made))
            case 2:
                self._join(table, made, "k")
            case _:
                self._join(table, made, "a")

    def grow_by_foreign_key(self) -> None:
        self._join(*self._drawn.choice(self.tables), "a")

    def _join(self, left: Table, of_left: Made, on: str) -> None:
        right, of_right = self._drawn.choice(self.tables)
        if on == "k" and _topics(left) & _topics(right):
            return  # As in Kafka Streams, a deletion of both at once is not emitted.
        outer = self._drawn.random() < 0.5
        join = left.left_join if outer else left.join
        select = {"a": col("r_a"), "n": col("n")}
        key = left.schema.key[0].name if on == "k" else on
        joined = join(right, on=key, prefix="r_", select=select)
        self._add(joined, _joined(of_left, of_right, on, outer=outer))

    def _add(self, table: Table, made: Made) -> None:
        table.to(f"out-{len(self.tables)}")
        self.tables.append((table, made))


def _topics(table: Table) -> set[str]:
    return {node.topic for node in ancestors(table.node) if isinstance(node, Source)}


def _topic(topic: str) -> Made:
    return lambda topics: topics[topic]


def _filtered(made: Made) -> Made:
    return lambda topics: {
        key: row for key, row in made(topics).items() if row["n"] is not None and row["n"] > 1
    }


def _counted(made: Made) -> Made:
    def count(topics: dict[str, Rows]) -> Rows:
        counts = Counter(row["a"] for row in made(topics).values() if row["a"] is not None)
        return {key: {"a": key, "n": n} for key, n in counts.items()}

    return count


def _joined(of_left: Made, of_right: Made, on: str, *, outer: bool) -> Made:
    def join(topics: dict[str, Rows]) -> Rows:
        right, found = of_right(topics), {}
        for key, row in of_left(topics).items():
            match = right.get(key if on == "k" else row["a"])
            if match or outer:
                found[key] = {"a": match["a"] if match else None, "n": row["n"]}
        return found

    return join


@pytest.mark.parametrize("seed", range(120))
def test_tables_follow_from_the_last_rows_of_the_topics(seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311 - the same records each time
    grown = Grown(drawn)
    for _ in range(drawn.randint(1, 5)):
        grown.grow()
    grown.grow_by_foreign_key()
    plan, tasks = grown.topology.build(), drawn.randint(1, 3)
    levels = find_levels(plan, tasks)
    assert shape_of(lower(levels, "grown", cache_bytes_max=0), Names.of(levels))["stores"]
    # With a record cache, a join by key emits rows that the cache never emits, as in Kafka
    # Streams.
    by_key = any(isinstance(node, TableJoin) for node in plan.nodes)
    evaluator = ReferenceEvaluator(plan, tasks=tasks, cache=drawn.random() < 0.5 and not by_key)
    topics: dict[str, Rows] = {topic: {} for topic in TOPICS}
    written = []
    for batch in range(3):
        records = [_record(drawn, batch * 100 + offset, topics) for offset in range(20)]
        written += evaluator.run(records)

        for number, (_, made) in enumerate(grown.tables[2:], start=2):
            last = latest(written, f"out-{number}").items()
            rows = {str(key, "utf-8"): json.loads(row) for key, row in last if key is not None}
            assert rows == made(topics), f"out-{number}"


def _record(drawn: random.Random, offset: int, topics: dict[str, Rows]) -> SourceRecord:
    topic, key = drawn.choice(TOPICS), drawn.choice(KEYS)
    row = {"a": drawn.choice([None, *KEYS]), "n": drawn.randrange(4)}
    topics[topic].pop(key, None)
    if drawn.random() < 0.2:
        return SourceRecord(topic, 0, offset, drawn.randrange(30), key.encode(), None)
    topics[topic][key] = row
    data = json.dumps(row).encode()
    return SourceRecord(topic, 0, offset, drawn.randrange(30), key.encode(), data)

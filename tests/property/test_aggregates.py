"""Aggregates that keep values equal a recomputation, in any order of additions and removals."""

import json
from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates import (
    OF_STREAMS,
    OF_TABLES,
    ROWS,
    Row,
    agree,
    over_a_stream,
    over_a_table,
)
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

CHANGES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.none() | ROWS, st.integers(0, 20)), max_size=25
)


def records(changes: list[tuple[str, Row | None, int]]) -> list[SourceRecord]:
    return [
        SourceRecord(
            "rows", 0, at, time, key.encode(), None if row is None else json.dumps(row).encode()
        )
        for at, (key, row, time) in enumerate(changes)
    ]


def results(written: list[Any]) -> dict[str, Row]:
    return {out.key.decode(): json.loads(out.value) for out in written if out.value}


@settings(max_examples=150)
@given(CHANGES)
def test_adds_and_undos_in_any_order_equal_a_full_recomputation(
    changes: list[tuple[str, Row | None, int]],
) -> None:
    evaluator = ReferenceEvaluator(over_a_table().build(), tasks=1)
    now: dict[str, Row] = {}
    for at, (key, row, _) in enumerate(changes):
        now.pop(key, None)
        if row is not None:
            now[key] = row | {"at": at}

    found = results(
        evaluator.run([one._replace(timestamp_ms=at) for at, one in enumerate(records(changes))])
    )

    for group, row in found.items():
        rows = [row for row in now.values() if row["g"] == group]
        for name, (_, expected) in OF_TABLES.items():
            assert agree(name, row[name], expected(rows)), (name, group, row[name], expected(rows))


@settings(max_examples=150)
@given(CHANGES)
def test_a_stream_is_aggregated_in_the_order_of_its_records(
    changes: list[tuple[str, Row | None, int]],
) -> None:
    evaluator = ReferenceEvaluator(over_a_stream().build(), tasks=1)
    groups: dict[str, list[Row]] = defaultdict(list)
    for _, row, time in changes:
        if row is not None:
            groups[row["g"]].append(row | {"at": time})

    found = results(evaluator.run(records(changes)))

    assert set(found) == set(groups)
    for group, rows in groups.items():
        for name, (_, expected) in OF_STREAMS.items():
            wanted = expected(rows)
            assert agree(name, found[group][name], wanted), (name, found[group][name], wanted)

"""Every function returns the same for odd rows in persistent and transient queries."""

import json
import math
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from conformance.ksql.odd_values import AGGREGATES, COLUMNS, GROUPS, WITHOUT_ROOM, calls, rows
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession, parse
from duolog.plan.types import Column
from duolog.serde.serde import value_serde
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.qtt.answers import Answering
from duolog.testing.qtt.topics import Topics
from duolog.testing.sql import read_tests, run_test

pytestmark = pytest.mark.spark

CASES: Final = Path(__file__).with_name("odd_values.sql")
ROWS: Final = 60
AT_ONCE: Final = 60
SEED: Final = 1
DEEP: Final = range(2, 2 + int(os.environ.get("DUOLOG_ODD_VALUES", "6")))
_KSQL: Final = (("dialect", "ksqldb"),)
_ALIKE: Final = 1e-14
"""The difference of C and Java libraries in trigonometric functions."""

Row = dict[str, Any]


class Odd:
    """A stream of odd rows, and the results of calls over its columns."""

    def __init__(self, seed: int) -> None:
        self.session = SqlSession(given={"auto.offset.reset": "earliest"})
        self.topics = Topics()
        listed = ", ".join(f"{name} {of}" for name, of in COLUMNS.items())
        self._run(f"CREATE STREAM O ({listed}) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');")
        columns = tuple(
            Column(one.name, one.type) for one in self.session.catalog.sources["O"].value
        )
        serde = value_serde("JSON", columns, _KSQL)
        for row in rows(seed, ROWS):
            self.topics.write("O", None, serde.serialize(row), 0)

    def _run(self, statement: str) -> list[Any]:
        return [done.query for done in self.session.run(statement) if done.query is not None]

    def differences(self, some: tuple[str, ...]) -> Iterator[str]:
        """Yield the differences between the two queries, and errors that end a query."""
        listed = ", ".join(f"{call} AS X{at}" for at, call in enumerate(some))
        written = self._written(listed)
        try:
            answered = self._answered(listed)
        except SqlError as error:
            yield from self._alone(some, str(error))
            return
        missing = {row["ID"] for row in answered} - {row["ID"] for row in written}
        if missing:
            yield f"rows {sorted(missing)} are not written: {listed}"
        by_id = {row["ID"]: row for row in answered}
        for at, call in enumerate(some):
            pairs = [(row[f"X{at}"], by_id[row["ID"]][f"X{at}"], row["ID"]) for row in written]
            found = [pair for pair in pairs if not _same(pair[0], pair[1])]
            if found:
                yield f"{call}: (written, answered, row) {found[:5]}"

    def groups_apart(self, call: str) -> str:
        """Return the groups whose values differ between a persistent and a transient query."""
        key = f"ID % {GROUPS}"
        select = f"SELECT {key} AS G, AS_VALUE({key}) AS H, {call} AS X FROM O GROUP BY {key}"  # noqa: S608
        (query,) = self._run(f"CREATE OR REPLACE TABLE R AS {select};")
        written = {row["H"]: row["X"] for row in self._out(query)}
        try:
            select = f"SELECT {key} AS H, {call} AS X FROM O GROUP BY {key};"  # noqa: S608
            answered = {row["H"]: row["X"] for row in self.answered(select)}
        except SqlError as error:
            return f"{call}: {error}"
        found = [
            (written[key], answered[key])
            for key in written
            if not _same(written[key], answered[key])
        ]
        return f"{call}: (written, answered) {found}" if found else ""

    def _alone(self, some: tuple[str, ...], error: str) -> Iterator[str]:
        if len(some) == 1:
            yield f"{some[0]}: {error}"
            return
        half = len(some) // 2
        yield from self.differences(some[:half])
        yield from self.differences(some[half:])

    def _written(self, listed: str) -> list[Row]:
        (query,) = self._run(f"CREATE OR REPLACE STREAM R AS SELECT ID, {listed} FROM O;")  # noqa: S608
        return self._out(query)

    def _out(self, query: Any) -> list[Row]:
        evaluator = KernelEvaluator(
            query.planned.plan, tasks=1, cache_bytes_max=0, passes_over=True
        )
        try:
            out = evaluator.run(self.topics.written["O"])
        finally:
            evaluator.close()
            self._run("TERMINATE ALL;")
            self._run(f"DROP {'TABLE' if query.planned.is_table else 'STREAM'} R;")
        return [json.loads(record.value or b"null") for record in out]

    def _answered(self, listed: str) -> list[Row]:
        return self.answered(f"SELECT ID, {listed} FROM O;")  # noqa: S608 - the statements are ours

    def answered(self, select: str) -> list[Row]:
        """Return the rows of a query as JSON values."""
        (node,) = parse(select)
        assert isinstance(node, exp.Query), node
        answer = Answering(self.session, self.topics).answer(node)
        columns = tuple(Column(one.name, one.type) for one in answer.columns)
        serde = value_serde("JSON", columns, _KSQL)
        return [json.loads(serde.serialize(row) or b"null") for row in answer.rows]


def _same(one: Any, other: Any) -> bool:
    match one, other:
        case float(), float():
            return math.isclose(one, other, rel_tol=_ALIKE)
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
        case _:
            return type(one) is type(other) and one == other


def _found(seed: int, of_each: int) -> list[str]:
    odd, drawn = Odd(seed), iter(calls(seed, of_each))
    found: list[str] = []
    while some := tuple(islice(drawn, AT_ONCE)):
        found += odd.differences(some)
    return found


def test_transient_and_persistent_queries_return_the_same_values(spark: SparkSession) -> None:
    assert _found(SEED, 1) == []


def test_aggregates_are_the_same_in_tables_and_transient_queries(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"
    odd = Odd(SEED)

    found = [wrong for call in AGGREGATES if (wrong := odd.groups_apart(call))]

    assert found == []
    for call in WITHOUT_ROOM:
        assert odd.answered(f"SELECT {call} AS X FROM O;") == [{"X": None}]  # noqa: S608


def test_odd_values_have_the_results_that_ksqldb_documents(spark: SparkSession) -> None:
    assert spark is not None, "the kernel is in the JVM of this run"

    outcomes = [run_test(case) for case in read_tests(CASES.read_text(), CASES.name)]

    assert [(one.test.name, one.line, one.reason) for one in outcomes if not one.passed] == []


@pytest.mark.deep
@pytest.mark.parametrize("seed", DEEP)
def test_more_calls_return_the_same_in_both_kinds_of_queries(
    spark: SparkSession, seed: int
) -> None:
    assert _found(seed, 4) == []

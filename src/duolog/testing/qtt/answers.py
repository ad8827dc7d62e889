"""The answers of SELECTs over the topics of a case, compared with the expected ones.

    a table    the last row of each key           a stream    all its records
    EMIT       the output of a separate query, up to LIMIT, over all records one by one

Source: ksqlDB's own runner, as described next to the cases: names and types of the columns, then
the rows, in any order unless the case specifies it, and the final message; a key that ends in
`|starts_with` gives the start of a text.
"""

import base64
import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from confluent_kafka import TIMESTAMP_CREATE_TIME
from sqlglot import exp

from duolog.core.counts import counted
from duolog.core.errors import SerdeError
from duolog.engine.settings import OF_SQL
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.push_ids import push_query_id
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import Array, Map, Struct, Type
from duolog.runtime.packed.hashable import hashable
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.clauses import ResultColumn
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.reply.transient import TransientPlan
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.runtime.topic_values import TopicValues
from duolog.serde.row import Row
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.qtt.cases import JsonObject
from duolog.testing.qtt.comparison import same_value
from duolog.testing.qtt.conditions import Mismatch
from duolog.testing.qtt.topics import Topics
from duolog.testing.reference import SourceRecord

Values = tuple[object, ...]

_KEY: Final = re.compile(r" KEY(?=, `|$)")
"""Only ksqlDB's answers mark key columns."""
_HEADER: Final = re.compile(r" HEADER(?:S|\('[^']*'\))(?=, `|$)")
"""Header columns are reported before the value's, regardless of their position."""
_COLUMN: Final = re.compile(", (?=`)")
_LIMITED: Final = "Limit Reached"
_COMPLETED: Final = "Query Completed"
_BEGINS: Final = "|starts_with"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a query."""

    columns: Sequence[ResultColumn]
    rows: list[Values]
    query_id: str = ""
    """The id of a query that continues."""
    limited: bool = False
    """True if it ended because of its LIMIT."""
    deleted: frozenset[int] = frozenset()
    """The positions of rows that report a deletion in a table."""


class _Read:
    """A record in the form of a consumer."""

    def __init__(self, record: SourceRecord) -> None:
        self._record = record

    def key(self) -> bytes | None:
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value

    def timestamp(self) -> tuple[int, int]:
        return TIMESTAMP_CREATE_TIME, self._record.timestamp_ms

    def partition(self) -> int:
        return self._record.partition

    def offset(self) -> int:
        return self._record.offset

    def headers(self) -> list[tuple[str, bytes | None]]:
        return list(self._record.headers)


@dataclass(frozen=True)
class Answering:
    """Answers SELECTs over the topics of a case."""

    session: SqlSession
    topics: Topics

    @property
    def catalog(self) -> Catalog:
        return self.session.catalog

    def answer(self, select: exp.Query) -> Answer:
        """Return columns and rows of a query: current rows, or with EMIT a continuing query's.

        Raises:
            SqlError: it cannot run.
        """
        if isinstance(select, exp.Select) and select.args.get("emit") is not None:
            return self._coming(select)
        return self._now(select)

    def _now(self, select: exp.Query) -> Answer:
        numbers = count()
        names: dict[str, str] = {}

        def table_of(source: SourceInfo) -> str:
            return names.setdefault(source.name, f"t{next(numbers)}")

        strict = self.session.state.settings.strict
        translator = Translator(self.catalog, table_of, by_partition=strict)
        query = translator.query(select)
        with connect() as connection:
            for name, source in translator.sources.items():
                rows = _present(source, self.topics.written[source.topic])
                table = DuckTable(connection, names[name], source_columns(source))
                table.add(range(len(rows)), rows)
            found = list(answered(connection, query))
        most = _most(select)
        return Answer(query.columns, found, limited=most is not None and len(found) >= most)

    def _coming(self, select: exp.Select) -> Answer:
        chosen = TransientPlan(self, select, "answers")
        plan = chosen.planned.plan
        (sink,) = plan.sinks
        values = TopicValues([sink])
        missing = (None,) * len(values.value_columns)
        evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0, errors=OF_SQL)
        rows: list[Values] = []
        deleted: set[int] = set()
        try:
            for record in (r for source in plan.sources for r in self.topics.written[source.topic]):
                for out in evaluator.run([record]):
                    if out.value is None and not chosen.planned.is_table:
                        continue
                    if out.value is None:
                        deleted.add(len(rows))
                    row = (
                        *(values.key_row(out.key) or ()),
                        *(values.value_row(out.value) or missing),
                    )
                    rows.append(tuple(row[at] for at in chosen.places))
        finally:
            evaluator.close()
        most = _most(select)
        query_id = push_query_id(select, self.session.state)
        limited = most is not None and len(rows) >= most
        return Answer(chosen.results, rows[:most], query_id, limited, frozenset(deleted))


def _most(select: exp.Query) -> int | None:
    limit = select.args.get("limit")
    return None if limit is None else int(limit.expression.name)


def _present(source: SourceInfo, records: Sequence[SourceRecord]) -> list[Row]:
    reader = SourceRows(source)
    placed: list[Row] = []
    by_key: dict[object, Row] = {}
    for record in records:
        message: Any = _Read(record)
        try:
            if not source.is_table:
                if (row := reader.row(message, reader.key(message))) is not None:
                    placed.append(row)
            elif record.key is not None:
                key = reader.key(message)
                by_key.pop(hashable(key), None)
                if (row := reader.row(message, key)) is not None:
                    by_key[hashable(key)] = row
        except SerdeError:
            continue
    return list(by_key.values()) if source.is_table else placed


def ensure_answer(answer: Answer, wanted: Sequence[JsonObject], *, in_order: bool) -> None:
    """Compare the answer of a SELECT with the expected parts.

    Raises:
        Mismatch: they differ.
    """
    parts = {
        name: [one[name] for one in wanted if name in one]
        for name in ("header", "row", "finalMessage")
    }
    for told in parts["header"]:
        _ensure_header(answer, told)
    for message in parts["finalMessage"]:
        found = _LIMITED if answer.limited else _COMPLETED
        if message != found:
            raise Mismatch(f"answer: ends with {found!r}, expected {message!r}")
    types = [column.type for column in answer.columns]
    rows = [
        (_told(row, answer.columns), at in answer.deleted) for at, row in enumerate(answer.rows)
    ]
    expected_rows = parts["row"]
    if len(rows) != len(expected_rows):
        raise Mismatch(
            f"answer: expected {counted(len(expected_rows), 'row')}, found {len(rows)}: {rows[:20]}"
        )
    left = list(rows)
    for number, expected in enumerate(expected_rows):
        near = left[:1] if in_order else left
        gone = bool(expected.get("tombstone"))
        same = next(
            (row for row in near if row[1] == gone and _same(row[0], expected["columns"], types)),
            None,
        )
        if same is None:
            raise Mismatch(f"answer: row {number} is {near[:20]}, expected {expected}")
        left.remove(same)


def _ensure_header(answer: Answer, told: JsonObject) -> None:
    columns = [f"`{column.name}` {sql_name(column.type)}" for column in answer.columns]
    if "schema" in told:
        with_headers = _HEADER.sub("", told["schema"])
        expected = _KEY.sub("", with_headers)
        found = ", ".join(columns)
        if with_headers != told["schema"]:
            found, expected = (", ".join(sorted(_COLUMN.split(one))) for one in (found, expected))
        if found != expected:
            raise Mismatch(f"answer: columns: {found!r}, expected {expected!r}")
    begins = told.get(f"queryId{_BEGINS}", "")
    if not answer.query_id.startswith(begins):
        raise Mismatch(f"answer: the query is {answer.query_id!r}, expected {begins!r} …")


def _same(row: Sequence[object], wanted: Sequence[object], types: Sequence[Type]) -> bool:
    return len(row) == len(wanted) and all(
        same_value(one, other, of) for one, other, of in zip(row, wanted, types, strict=True)
    )


def _told(row: Sequence[object], columns: Sequence[ResultColumn]) -> list[object]:
    """Return a row as JSON values."""
    return [_json(value, column.type) for value, column in zip(row, columns, strict=True)]


def _json(value: Any, of: Type) -> object:
    match of:
        case _ if value is None:
            return None
        case Array(element=element):
            return [_json(one, element) for one in value]
        case Map(value=kind):
            return {str(key): _json(one, kind) for key, one in value.items()}
        case Struct(fields=fields):
            return {name: _json(value.get(name), kind) for name, kind in fields}
        case _:
            return _plain_json(value)


def _plain_json(value: object) -> object:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(timespec="milliseconds")
        case dt.date():
            return value.isoformat()
        case _:
            return value

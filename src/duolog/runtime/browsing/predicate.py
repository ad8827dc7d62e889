"""A SQL predicate over decoded records.

    KEY, VALUE          the decoded key and value as text; VALUE->FIELD and VALUE[1] read its parts
    FIELD               a field of the value, unless a column has its name
    HEADERS             MAP<STRING, STRING>; of repeated names, the last
    PARTITION INT, OFFSET BIGINT, TS TIMESTAMP, ROWTIME BIGINT, ROWTOPIC STRING

It is an expression of ksqlDB's dialect. It is parsed and bound here, and evaluated by DuckDB in the
sandbox of pull queries, over batches of decoded records: no text of a client reaches DuckDB. Types
are those of the values that were seen; a batch that needs a wider type binds again.

Threads: one.
"""

import datetime as dt
import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, Literal, NamedTuple, NoReturn, Self

import duckdb
from sqlglot import exp

from duolog.core.types import BIGINT, INT, STRING, TIMESTAMP, Map, Struct, Type
from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.table_functions import table_functions_in
from duolog.ksql.session import SqlSession, parse
from duolog.ksql.syntax.types import sql_name
from duolog.runtime.browsing.budget import Budget
from duolog.runtime.browsing.decoding import Decoded, Decoder
from duolog.runtime.browsing.errors import InvalidPredicate, SlowPredicate
from duolog.runtime.browsing.record import BrowsedRecord, Part
from duolog.runtime.browsing.shapes import NO_FIELD, Names, Shape
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.failures import sql_error
from duolog.runtime.sql.duck.interrupting import AnswerLimits, interruptible
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.functions.call_limits import limit_of
from duolog.runtime.sql.functions.registry import ensure_functions

LENGTH_MAX: Final = 10_000
_TABLE: Final = "records"
_MEMORY: Final = "512MB"
_BEFORE: Final = "SELECT ROWPARTITION, ROWOFFSET FROM RECORDS WHERE\n"
_PARTITION, _STAND_IN = "PARTITION", "PARTITIO_"
"""PARTITION is a reserved word; its stand-in has as many letters, so that positions hold."""
_TOKENS: Final = re.compile(r"'(?:[^']|'')*'|`(?P<quoted>[^`]+)`|(?P<plain>[A-Za-z_]\w*)|--[^\n]*")
_PART_OF: Final = r"\b{}\s*(->|\[)"
_LINE: Final = re.compile(r"^Line: \d+, Col: \d+: ")
_CLAUSES: Final = ("group", "having", "order", "limit", "windows", "distinct", "joins", "with_")
_FIXED: Final[dict[str, Type]] = {
    "HEADERS": Map(STRING, STRING),
    _STAND_IN: INT,
    "OFFSET": BIGINT,
    "TS": TIMESTAMP,
}
_TAKEN: Final = frozenset(
    {"KEY", "VALUE", "ROWTOPIC", "ROWTIME", "ROWPARTITION", "ROWOFFSET", *_FIXED}
)
_LATEST_MS: Final = 253_402_300_799_999


class _Bound(NamedTuple):
    """A predicate that is bound to types, and the table for its rows."""

    query: Query
    table: DuckTable


class _Seen(NamedTuple):
    """A record's key and value as columns, and the fields of its value."""

    key: object
    value: object
    fields: dict[str, object] | None


class Predicate:
    """Selects records; close it.

    Args:
        text: the expression.
        topic: the value of ROWTOPIC.
        decoder: decodes keys and values.

    Raises:
        InvalidPredicate: the text is not one expression.
    """

    def __init__(self, text: str, topic: str, decoder: Decoder) -> None:
        if len(text) > LENGTH_MAX:
            raise InvalidPredicate(
                "the predicate is too long",
                detail=f"It has {len(text):,} characters; the limit is {LENGTH_MAX:,}.",
            )
        self._text = _with_stand_ins(text)
        self._topic = topic
        self._decoder = decoder
        names = _names(self._text)
        self._shapes = {"KEY": Shape(names), "VALUE": Shape(names)}
        self._fields = Shape(names)
        self._containers = {part: _container(part, self._text) for part in self._shapes}
        self._records = 0
        _parsed(self._text)
        self._connection = connect(threads=1)
        self._connection.execute(f"SET GLOBAL memory_limit = '{_MEMORY}'")
        limit_of(self._connection)
        self._types: dict[str, Type] = {}
        self._bound: _Bound | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def selected(self, records: Sequence[BrowsedRecord], budget: Budget) -> list[bool]:
        """Return for each record whether it is selected; null counts as false.

        Raises:
            InvalidPredicate: a name or type is wrong.
            SlowPredicate: a value cannot be computed in time.
        """
        if not records:
            return []
        seen = [self._seen(one) for one in records]
        for one in seen:
            self._shapes["KEY"].add(one.key)
            self._shapes["VALUE"].add(one.value)
            self._fields.add(one.fields)
        self._records += len(records)
        types = self._column_types()
        if types != self._types or self._bound is None:
            self._bind(types)
        rows = [self._row(record, one) for record, one in zip(records, seen, strict=True)]
        found = self._answered(rows, budget)
        return [(one.partition, one.offset) in found for one in records]

    def _seen(self, record: BrowsedRecord) -> _Seen:
        key, _ = self._value("key", record.key, record)
        value, fields = self._value("value", record.value, record)
        return _Seen(key, value, fields)

    def _value(
        self, which: Literal["key", "value"], part: Part | None, record: BrowsedRecord
    ) -> tuple[object, dict[str, object] | None]:
        """Return the value of a column KEY or VALUE, and the fields of an object."""
        if part is None:
            return None, None
        found = self._decoder.decoded(which, part, record.headers)
        wanted = self._containers[which.upper()]
        scalar = _scalar(found)
        if found.kind == "json":
            try:
                value = json.loads(found.text)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict | list):
                fields = value if isinstance(value, dict) else None
                if wanted is not None:
                    return (value if isinstance(value, wanted) else None), fields
                # Without a part of it in the predicate, JSON is a text that LIKE can search.
                return found.text, fields
            scalar = value
        return (None if wanted is not None else scalar), None

    def _column_types(self) -> dict[str, Type]:
        of = self._fields.type()
        fields = of.fields if isinstance(of, Struct) else ()
        columns = {one.name: one.type for one in fields if one.name not in {*_TAKEN, NO_FIELD}}
        return {name: one.type() for name, one in self._shapes.items()} | columns | _FIXED

    def _row(self, record: BrowsedRecord, seen: _Seen) -> tuple[object, ...]:
        fields = self._fields.row_value(seen.fields) or {}
        return (
            *(
                self._shapes[name].row_value(value)
                for name, value in (("KEY", seen.key), ("VALUE", seen.value))
            ),
            *(fields.get(name) for name in self._types if name not in _TAKEN),
            _headers(record),
            record.partition,
            record.offset,
            _moment(record.timestamp_ms),
            self._topic,
            record.timestamp_ms,
            record.partition,
            record.offset,
        )

    def _bind(self, types: dict[str, Type]) -> None:
        listed = ", ".join(f"`{name}` {sql_name(of)}" for name, of in types.items())
        declared = (
            f"CREATE STREAM RECORDS ({listed}) WITH (KAFKA_TOPIC = 'records', "
            "VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        )
        catalog = Catalog()
        (statement,) = parse(declared)
        SqlSession(catalog).execute(statement, declared)
        try:
            query = Translator(catalog, lambda _: _TABLE).query(_parsed(self._text))
            ensure_functions(self._connection, query.sql)
        except SqlError as error:
            raise self._refused(error) from error
        if self._bound is not None:
            self._bound.table.drop()
        columns = source_columns(catalog.sources["RECORDS"])
        self._types = types
        self._bound = _Bound(query, DuckTable(self._connection, _TABLE, columns))

    def _answered(self, rows: list[tuple[object, ...]], budget: Budget) -> set[tuple[object, ...]]:
        bound = self._bound
        assert bound is not None
        limits = AnswerLimits(timeout_ms=max(1, int(budget.seconds_left * 1000)))

        def call() -> list[tuple[object, ...]]:
            bound.table.clear()
            bound.table.add(range(len(rows)), rows)
            return self._connection.execute(bound.query.sql).fetchall()

        try:
            return set(interruptible(self._connection, call, limits, budget.is_stopped))
        except duckdb.Error as error:
            raise _invalid(sql_error(error)) from error
        except SqlError as error:
            raise SlowPredicate(
                "the predicate takes too long",
                hint="Select fewer records by partition, offset or time, or use a simpler one.",
            ) from error

    def _refused(self, error: SqlError) -> InvalidPredicate:
        found = _invalid(error)
        wrong = re.search(r"[Ff]ield '([^']+)'|[Cc]olumn '?`?([\w]+)", error.message)
        if wrong is not None:
            name = wrong[1] or wrong[2]
            known = sorted(self._fields.known)
            near = get_close_matches(name.lower(), known, n=1)
            listed = f"Fields are {', '.join(known[:8])}." if known else ""
            seen = f"None of the {self._records:,} records that were read has a field {name}."
            found.detail = found.detail or seen
            found.hint = found.hint or (f"Did you mean {near[0]}?" if near else listed)
        return found


def _parsed(text: str) -> exp.Select:
    """Return the query of a predicate.

    Raises:
        InvalidPredicate: it is not one expression.
    """
    try:
        statements = parse(f"{_BEFORE}{text}\n;")
    except SqlError as error:
        raise _invalid(error) from error
    except RecursionError as error:
        raise InvalidPredicate("the predicate is nested too deeply") from error
    select = statements[0] if statements else None
    if (
        len(statements) != 1
        or not isinstance(select, exp.Select)
        or any(select.args.get(name) for name in _CLAUSES)
        or len(list(select.find_all(exp.Select))) != 1
    ):
        _refuse(
            "the predicate is not one expression", "Write a condition: amount > 5 AND key = 'a'."
        )
    if calls := table_functions_in(select.args["where"]):
        _refuse(f"{calls[0].name} does not have one result for each record", "")
    return select


def _refuse(message: str, hint: str) -> NoReturn:
    raise InvalidPredicate(message, hint=hint, line=1, column=1)


def _invalid(error: SqlError) -> InvalidPredicate:
    """Return an error of the whole statement as one of the predicate in it."""
    lines = [line for line in error.message.split("\n") if line and "Syntax Error" not in line]
    told: list[str] = []
    for line in lines:
        if line.startswith("Statement:"):
            break
        told.append(line)
    message = (
        _LINE.sub("", " ".join(told)).replace(_STAND_IN, _PARTITION) or "the predicate is invalid"
    )
    at = error.at
    return InvalidPredicate(
        message or "the predicate is invalid",
        detail=error.detail,
        hint=error.hint,
        line=0 if at is None else max(1, at.line - 1),
        column=0 if at is None else at.column,
        length=0 if at is None else at.end - at.start,
    )


def _scalar(found: Decoded) -> object:
    match found.form:
        case "INT" | "BIGINT" if found.kind == "text":
            return int(found.text)
        case "DOUBLE" if found.kind == "text":
            return float(found.text)
        case _:
            return found.text


def _container(part: str, text: str) -> type | None:
    """Return what a predicate reads parts of: an object or an array; None if it does not."""
    found = re.search(_PART_OF.format(part), text, re.IGNORECASE)
    if found is None:
        return None
    return dict if found[1] == "->" else list


def _with_stand_ins(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        return _STAND_IN if (found["plain"] or "").upper() == _PARTITION else found[0]

    return _TOKENS.sub(replaced, text)


def _names(text: str) -> Names:
    found = list(_TOKENS.finditer(text))
    plain = frozenset(one["plain"].upper() for one in found if one["plain"])
    quoted = frozenset(one["quoted"] for one in found if one["quoted"])
    return Names(plain, quoted)


def _headers(record: BrowsedRecord) -> dict[str, str | None]:
    return {
        name: None if data is None else data.decode(errors="replace")
        for name, data in record.headers
    }


def _moment(ms: int) -> dt.datetime | None:
    if not 0 <= ms <= _LATEST_MS:
        return None
    return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=ms)

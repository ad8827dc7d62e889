"""New keys and values by SQL expressions over the columns of a letter.

    KEY, VALUE                 STRING; null if the bytes are not UTF-8
    KEY_BYTES, VALUE_BYTES     BYTES
    ERROR_CLASS, ERROR_MESSAGE, QUERY, SOURCE_TOPIC       STRING
    SOURCE_PARTITION INT, SOURCE_OFFSET BIGINT, ROWTIME BIGINT, ROWPARTITION INT, ROWOFFSET BIGINT

Expressions are in ksqlDB's dialect and are evaluated in the sandbox of pull and push queries: they
cannot reach files, networks or variables. A result is a STRING or BYTES. Null leaves the letter
where it is: most functions return null for what they cannot read, and a tombstone by mistake would
delete a row.

Threads: one.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Self

from sqlglot import exp

from duolog.core.errors import StatementError
from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.table_functions import table_functions_in
from duolog.ksql.session import SqlSession, parse
from duolog.plan.types import BYTES, STRING
from duolog.runtime.dead_letters.corrections import Corrected, Kept, missing_of, unchanged
from duolog.runtime.dead_letters.letter import Letter
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.queries import Translator
from duolog.runtime.sql.fanout.batch_database import RECORDS, BatchDatabase
from duolog.runtime.sql.fanout.errors import EvaluationTooSlow

_DECLARED: Final = """
CREATE STREAM LETTERS (
    `KEY` STRING, `VALUE` STRING, KEY_BYTES BYTES, VALUE_BYTES BYTES, ERROR_CLASS STRING,
    ERROR_MESSAGE STRING, QUERY STRING, SOURCE_TOPIC STRING, SOURCE_PARTITION INT,
    SOURCE_OFFSET BIGINT
) WITH (KAFKA_TOPIC = 'letters', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""
_PARTS: Final = ("key", "value")
_LENGTH_MAX: Final = 100_000
_COLUMNS: Final = 3
_CLAUSES: Final = ("distinct", "where", "group", "having", "order", "limit", "joins", "with_")


class BySql:
    """Evaluates an expression for the key, the value or both; close it.

    Args:
        key: the expression; empty to keep the key.
        value: as `key`.

    Raises:
        StatementError: an expression is invalid, or its result is neither STRING nor BYTES.
    """

    def __init__(self, key: str = "", value: str = "") -> None:
        catalog, source = _declared()
        self._queries = {
            part: _query(part, text, catalog)
            for part, text in zip(_PARTS, (key, value), strict=True)
            if text
        }
        self._database = BatchDatabase()
        self._tables = self._database.tables(source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tables.close()
        self._database.close()

    def of(self, letters: Sequence[Letter]) -> Sequence[Corrected | Kept]:
        """Return the corrections; see `Correction`."""
        if not letters:
            return []
        try:
            return self._all(letters)
        except (SqlError, EvaluationTooSlow) as error:
            if len(letters) == 1:
                return [Kept(f"the expression failed: {error.message}", failed=True)]
        # One letter must not keep the others of its batch from being corrected.
        return [self.of([letter])[0] for letter in letters]

    def _all(self, letters: Sequence[Letter]) -> list[Corrected | Kept]:
        self._tables.load([_row(letter) for letter in letters])
        found = {
            part: {row[1:]: row[0] for row in self._tables.answer(query)}
            for part, query in self._queries.items()
        }
        return [_corrected(letter, found) for letter in letters]


def _corrected(
    letter: Letter, found: Mapping[str, Mapping[tuple[object, ...], object]]
) -> Corrected | Kept:
    mine = unchanged(letter)
    if (missing := missing_of(letter, has_value="value" in found)) is not None:
        return missing
    for part, values in found.items():
        value = values[letter.record.partition, letter.record.offset]
        if value is None:
            return Kept(f"the expression for the {part} is null")
        data = value.encode() if isinstance(value, str) else value
        assert isinstance(data, bytes), data
        mine = mine.with_part(part, data)
    return mine


def _row(letter: Letter) -> tuple[object, ...]:
    record, source = letter.record, letter.source
    return (
        _text(record.key),
        _text(record.value),
        record.key,
        record.value,
        letter.failure.class_name,
        letter.failure.message,
        letter.query,
        source.topic,
        None if source.partition is None or source.partition > _INT_MAX else source.partition,
        source.offset,
        record.topic,
        record.timestamp_ms,
        record.partition,
        record.offset,
    )


_INT_MAX: Final = 2**31 - 1


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def _declared() -> tuple[Catalog, SourceInfo]:
    catalog = Catalog()
    session = SqlSession(catalog)
    (statement,) = parse(_DECLARED)
    session.execute(statement, _DECLARED)
    return catalog, catalog.sources["LETTERS"]


def _query(part: str, text: str, catalog: Catalog) -> Query:
    """Return the query of an expression; each row of its result has the place of its letter.

    Raises:
        StatementError: see `BySql`.
    """
    if len(text) > _LENGTH_MAX:
        raise _refused(part, f"It has {len(text):,} characters; the limit is {_LENGTH_MAX:,}.")
    try:
        (select,) = parse(f"SELECT\n{text}\nAS V, ROWPARTITION, ROWOFFSET FROM LETTERS;")
        # The text must be one expression, and nothing of a query around it.
        if not isinstance(select, exp.Select) or not _is_plain(select):
            raise _refused(part, "It is not one expression.")
        if calls := table_functions_in(*select.expressions):
            raise _refused(part, f"{calls[0].name} does not have one result for each letter.")
        query = Translator(catalog, lambda _source: RECORDS).query(select)
    except ValueError as error:
        raise _refused(part, "It is not one expression.") from error
    except SqlError as error:
        raise _refused(part, error.message) from error
    if query.columns[0].type not in (STRING, BYTES):
        raise _refused(
            part, f"Its type is {query.columns[0].type}.", "Use CAST(… AS STRING), or AS BYTES."
        )
    return query


def _is_plain(select: exp.Select) -> bool:
    alone = len(select.expressions) == _COLUMNS and select.expressions[0].alias == "V"
    return alone and not any(select.args.get(name) for name in _CLAUSES)


def _refused(part: str, detail: str, hint: str = "") -> StatementError:
    return StatementError(f"the SQL expression for the {part} is invalid", detail=detail, hint=hint)

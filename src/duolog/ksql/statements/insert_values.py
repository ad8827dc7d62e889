"""Run INSERT INTO … VALUES: one row of constant expressions, typed by the columns.

INSERT INTO t (k, v) VALUES ('a', NULL)      a row of nulls, as ksqlDB writes it
INSERT INTO t (k) NULL VALUES KEY ('a')      extension: a tombstone, which deletes a table's row
"""

from collections.abc import Sequence
from decimal import Decimal as DecimalValue

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.hints import named
from duolog.ksql.catalog.schemas import with_schemas
from duolog.ksql.catalog.source_topics import ensure_one_topic
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.bound import Bound, converted
from duolog.ksql.expressions.literals import read_text, text_of
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.planning.tombstones import ensure_tombstone
from duolog.ksql.planning.written_headers import ensure_header_type
from duolog.ksql.statements.state import Done, InsertedRow, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name, widens
from duolog.plan.expressions import Expression, Literal
from duolog.plan.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    NULL,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    numeric,
)

_TIME: str = "ROWTIME"
_NOT_INSERTED = ("ROWPARTITION", "ROWOFFSET")
_FROM_TEXT = (DATE, TIME, TIMESTAMP)


def insert_values(state: SessionState, node: nodes.InsertValues) -> Done:
    """Run INSERT INTO … VALUES; the caller writes the row.

    Raises:
        SqlError: the source cannot be written, or the values do not match its columns.
    """
    source = named(
        state.catalog.sources, node.this, "Cannot insert values into an unknown stream/table: `{}`"
    )
    if source.read_only:
        raise SqlError(f"Cannot insert values into read-only {source.kind.lower()}: {source.name}")
    ensure_one_topic(source, "insert values into", node.this)
    if source.window is not None:
        raise SqlError("Cannot insert values into windowed stream/table!")
    if node.args.get("tombstone") is not None:
        ensure_tombstone(source, node, state.settings)
    if source.is_table and source.query in state.queries:
        raise SqlError(
            f"Cannot insert values into table {source.name}: query {source.query} writes it",
            hint="Insert into the sources of that query.",
        )
    source = with_schemas(source, state.settings, writes=True)
    try:
        row = _row(state, source, node)
    except SqlError as error:
        raise _failed(source, error) from error.__cause__
    given = {
        name
        for name, value in row.values
        if not isinstance(value, Literal) or value.value is not None
    }
    missing = [column.name for column in source.key if column.name not in given]
    if missing and (source.is_table or row.tombstone):
        key, whom = ("primary key", "tables") if source.is_table else ("key", "a tombstone")
        raise SqlError(
            f"Failed to insert values into '{source.name}'. Value for {key} column(s) "
            f"{', '.join(missing)} is required for {whom}"
        )
    return Done(node, inserted=(row,))


def _failed(source: SourceInfo, error: SqlError) -> SqlError:
    """Return the error of a row that does not match its source.

    Errors of parsing are returned unchanged.
    """
    if error.message.startswith("Failed to prepare statement"):
        return error
    message = f"Failed to insert values into '{source.name}'. {error.message}"
    return SqlError(message, at=error.at, detail=error.detail, hint=error.hint)


def assert_values(state: SessionState, node: nodes.AssertValues) -> Done:
    """Run ASSERT VALUES or ASSERT NULL VALUES; the caller compares the row with the records.

    Raises:
        SqlError: the values do not match the columns of the source.
    """
    source = named(state.catalog.sources, node.this, "Source {} does not exist.")
    return Done(node, claimed=_row(state, source, node))


def _row(
    state: SessionState, source: SourceInfo, node: nodes.InsertValues | nodes.AssertValues
) -> InsertedRow:
    names = _names(source, node, strict=state.settings.strict)
    _ensure_as_many(names, node)
    binder = Binder(SqlScope((), "VALUES"), state.catalog.types)
    types = {column.name: column.type for column in source.columns} | {_TIME: BIGINT}
    beside = {column.name: column.header for column in source.headers}
    values = {
        name: _header_of(binder, beside[name], one)
        if name in beside
        else value_of(binder, name, types[name], one)
        for name, one in zip(names, node.expressions, strict=True)
    }
    timestamp = values.pop(_TIME, None)
    headers = tuple(
        (column.header, values.pop(column.name))
        for column in source.headers
        if column.name in values
    )
    tombstone = bool(node.args.get("tombstone"))
    return InsertedRow(source, tuple(values.items()), timestamp, headers, tombstone)


def _names(
    source: SourceInfo, node: nodes.InsertValues | nodes.AssertValues, *, strict: bool
) -> Sequence[str]:
    """Return the columns of the values."""
    columns = node.args.get("columns")
    if columns is None and node.args.get("tombstone"):
        return [column.name for column in source.key]
    if columns is None:
        return [column.name for column in (*source.key, *source.value)]
    headers = [one for one in source.headers if one.name in {name.name for name in columns}]
    refused = [one.name for one in headers if strict or one.role == "HEADERS"]
    if isinstance(node, nodes.AssertValues):
        refused = [one.name for one in headers if one.role == "HEADERS"]
    if refused:
        raise SqlError(
            f"Cannot insert into HEADER columns: {', '.join(refused)}",
            hint="" if strict else "Declare each header as a column: name BYTES HEADER('…').",
        )
    known = {column.name for column in source.columns} | {_TIME}
    for name in columns:
        if name.name in _NOT_INSERTED:
            raise SqlError(
                f"Inserting into column `{name.name}` is not allowed.", at=place_of(name)
            )
        if name.name not in known:
            raise SqlError(f"Column name `{name.name}` does not exist.", at=place_of(name))
    names = [name.name for name in columns]
    for at, name in enumerate(columns):
        if name.name in names[:at]:
            raise SqlError(f"Column `{name.name}` is listed more than once.", at=place_of(name))
    return names


def _ensure_as_many(names: Sequence[str], node: nodes.InsertValues | nodes.AssertValues) -> None:
    if len(names) == len(node.expressions):
        return
    if node.args.get("columns") is not None:
        raise SqlError(
            "Failed to prepare statement: Expected number columns and values to match: "
            f"{len(names)}, {len(node.expressions)}",
            at=place_of(node.this),
        )
    given = ", ".join(map(formatted, node.expressions))
    raise SqlError(
        "Expected a value for each column. Expected Columns: "
        f"[{', '.join(f'`{name}`' for name in names)}]. Got [{given}]",
        at=place_of(node.this),
    )


def value_of(binder: Binder, name: str, wanted: Type, node: exp.Expression) -> Expression:
    """Return a value as an expression of its column's type.

    Raises:
        SqlError: the value has a type that does not widen to it.
    """
    text = text_of(node)
    if text is not None and wanted in _FROM_TEXT:
        read = read_text(text, wanted)
        if read is None:
            raise SqlError(
                f"Expected type {sql_name(wanted)} for field `{name}` but got STRING({text})",
                at=place_of(node),
            )
        return read.expression
    bound = _bound(binder, node)
    if isinstance(wanted, Decimal) and (number := _number_in(bound)) is not None:
        return _exactly(number, wanted, node)
    if not _fits(bound.type, wanted):
        raise SqlError(
            f"Expected type {sql_name(wanted)} for field `{name}` but got "
            f"{sql_name(bound.type)}({formatted(node) if text is None else text})",
            at=place_of(node),
        )
    return _literal_as(bound, wanted)


def _header_of(binder: Binder, header: str, node: exp.Expression) -> Expression:
    """Return the value of a header, BYTES or STRING."""
    bound = _bound(binder, node)
    ensure_header_type(header, bound.type, node)
    return Literal(None, BYTES) if bound.type == NULL else bound.expression


def _bound(binder: Binder, node: exp.Expression) -> Bound:
    """Bind a value; it cannot contain columns."""
    try:
        return binder.bind(node)
    except SqlError as error:
        if not error.message.endswith(("cannot be resolved.", "stream/table name or alias.")):
            raise
        raise SqlError(f"Failed to prepare statement: {error.message}", at=error.at) from None


def _number_in(bound: Bound) -> DecimalValue | None:
    """Return the number in a whole or decimal literal, or None."""
    if not isinstance(bound.expression, Literal) or bound.type == DOUBLE or not numeric(bound.type):
        return None
    return DecimalValue(str(bound.expression.value))


def _exactly(number: DecimalValue, wanted: Decimal, node: exp.Expression) -> Expression:
    """Return a number as a DECIMAL of this size.

    Raises:
        SqlError: it has too many digits before or after the decimal point.
    """
    _, digits, exponent = number.as_tuple()
    scale = max(-int(exponent), 0)
    precision = max(len(digits), scale)
    if number and (scale > wanted.scale or precision - scale > wanted.precision - wanted.scale):
        raise SqlError(
            f"Cannot fit decimal '{number}' into {sql_name(wanted)} without rounding. "
            f"(Requires {precision},{scale})",
            at=place_of(node),
        )
    return Literal(round(number, wanted.scale), wanted)


def _fits(given: Type, wanted: Type) -> bool:
    """Return true if a column accepts values of a type.

    STRUCTs match by the names of their fields: missing fields are null, and additional ones are
    ignored.
    """
    match given, wanted:
        case Array(element=one), Array(element=other):
            return _fits(one, other)
        case Map(key=k1, value=v1), Map(key=k2, value=v2):
            return _fits(k1, k2) and _fits(v1, v2)
        case Struct(fields=fields), Struct(fields=others):
            types = dict(others)
            return all(name not in types or _fits(of, types[name]) for name, of in fields)
        case _:
            return given == NULL or widens(given, wanted)


def _literal_as(bound: Bound, wanted: Type) -> Expression:
    """Return a bound value as a value of a type; a null literal stays a literal."""
    if isinstance(bound.expression, Literal) and bound.expression.value is None:
        return Literal(None, wanted)
    return converted(bound, wanted).expression

"""Answer lookups without a database: columns of one table, by key or by a range of keys.

SELECT id, count FROM totals WHERE id = 'a'                        the row of a key
SELECT * FROM totals WHERE id IN ('a', 'b') AND count > 3          rows of keys, filtered
SELECT * FROM hourly WHERE id = 'a' AND WINDOWSTART >= '2026-01'   matching windows of a key
SELECT * FROM totals WHERE id >= 'a' AND id < 'b'                  rows of a range of keys
SELECT * FROM places WHERE area = 'n'                              rows of the first key columns
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal as PythonDecimal
from itertools import product
from typing import Any, Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.planning.analysis import items_of
from duolog.ksql.syntax.rows_parser import ROWS_ONLY
from duolog.plan.expressions import Call, ColumnRef, Expression, Literal
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type, numeric
from duolog.runtime.sql.duck.aggregate_calls import is_aggregate
from duolog.runtime.sql.duck.clauses import ResultColumn, ensure_distinct
from duolog.runtime.sql.duck.queries import SourceColumn, source_columns
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.serde.row import Row

_ELSEWHERE: Final = (
    *("joins", "group", "having", "distinct", "with_", "stream_window", "partition_by"),
    "qualify",
)
Compare = Callable[[Any, Any], bool]

_COMPARED: Final[Mapping[str, Compare]] = {
    PREFIX + "EQUAL": operator.eq,
    PREFIX + "LESS_THAN": operator.lt,
    PREFIX + "LESS_THAN_OR_EQUAL": operator.le,
    PREFIX + "GREATER_THAN": operator.gt,
    PREFIX + "GREATER_THAN_OR_EQUAL": operator.ge,
}
_TURNED: Final = {
    "LESS_THAN": "GREATER_THAN",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN_OR_EQUAL",
    "GREATER_THAN": "LESS_THAN",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN_OR_EQUAL",
}
_SIMPLE: Final = {INT, BIGINT, DOUBLE, STRING, BOOLEAN}
_KEYS_MAX: Final = 10_000
_RANGE_MAX: Final = 10_000

Test = tuple[int, Compare, object]
"""Position in a row, comparison, and the value to compare with."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup: keys, filters and selected columns."""

    source: SourceInfo
    columns: tuple[ResultColumn, ...]
    places: tuple[int, ...]
    keys: tuple[Row, ...]
    tests: tuple[Test, ...]
    limit: int | None
    by_range: bool = False
    """True if the tests of the first key column, instead of keys, select the rows."""

    def rows(self, table: TableRows) -> list[Row] | None:
        """Return the current rows; None if DuckDB is faster, for many rows.

        Raises:
            Undecodable: a value cannot be decoded.
        """
        if self.by_range:
            selected = table.between(*self._bounds(), _RANGE_MAX)
        else:
            selected = table.find(self.keys, _KEYS_MAX)
        if selected is None:
            return None
        found = [tuple(row[at] for at in self.places) for row in selected if self._fits(row)]
        return found[: self.limit]

    def _bounds(self) -> tuple[Row | None, Row | None]:
        """Return the inclusive bounds of the first key column; the tests exclude more."""
        low: Any = None
        high: Any = None
        for at, compare, value in self.tests:
            if at == 0 and compare in {operator.gt, operator.ge}:
                low = value if low is None else max(low, value)
            elif at == 0 and compare in {operator.lt, operator.le}:
                high = value if high is None else min(high, value)
        return None if low is None else (low,), None if high is None else (high,)

    def _fits(self, row: Row) -> bool:
        return all(
            (value := row[at]) is not None and compare(value, wanted)
            for at, compare, wanted in self.tests
        )


def lookup_of(query: exp.Query, catalog: Catalog) -> Lookup | None:
    """Return a query as a lookup, or None if it does more than that.

    Raises:
        SqlError: the query is invalid.
    """
    source = _only_table(query, catalog)
    if source is None:
        return None
    assert isinstance(query, exp.Select)
    columns = source_columns(source)
    alias = query.args["from_"].this.alias or source.name
    scope = SqlScope(
        tuple(
            Visible(
                alias,
                one.name,
                ColumnRef(str(at)),
                one.type,
                pseudo=one.beside,
                key=one.key,
            )
            for at, one in enumerate(columns)
        )
    )
    items = items_of(query, Binder(scope, catalog.types), beside=True)
    chosen = [scope.get(item.node) if isinstance(item.node, exp.Column) else None for item in items]
    if any(one is None for one in chosen):
        return None
    where = Binder(scope.within("WHERE"), catalog.types).condition(query.args["where"].this)
    plain = len(source.key)
    found = _conditions(where, columns, plain)
    if found is None:
        return None
    values, tests = found
    given = next((at for at in range(plain) if at not in values), plain)
    limit = query.args.get("limit")
    if given < plain:
        further = _as_tests({at: some for at, some in values.items() if at > given})
        # LIMIT returns the first rows in an order that DuckDB is asked for.
        if limit is not None or further is None or not (given or _is_ranged(tests)):
            return None
        tests += further
    keys = tuple(dict.fromkeys(product(*(values[at] for at in range(given))))) if given else ()
    if len(keys) > _KEYS_MAX:
        return None
    results = tuple(
        ResultColumn(item.name, one.type) for item, one in zip(items, chosen, strict=True) if one
    )
    ensure_distinct(results)
    places = tuple(_place(one.expression) for one in chosen if one)
    most = None if limit is None else int(limit.expression.name)
    return Lookup(source, results, places, keys, tuple(tests), most, not given)


def _as_tests(values: Mapping[int, list[object]]) -> list[Test] | None:
    """Return key values as tests; None if a column has several."""
    if any(len(some) != 1 for some in values.values()):
        return None
    return [(at, operator.eq, some[0]) for at, some in values.items()]


def _is_ranged(tests: list[Test]) -> bool:
    return any(at == 0 and compare is not operator.eq for at, compare, _ in tests)


def _only_table(query: exp.Query, catalog: Catalog) -> SourceInfo | None:
    """Return the only table of a query that just selects and filters, or None."""
    if not isinstance(query, exp.Select) or query.args.get("where") is None:
        return None
    if any(query.args.get(key) for key in _ELSEWHERE) or query.find(*ROWS_ONLY) is not None:
        return None
    table = query.args["from_"].this
    source = catalog.sources.get(table.name) if isinstance(table, exp.Table) else None
    if source is None or not source.is_table or not source.key:
        return None
    known = {column.name for column in source_columns(source)}
    names = {column.name for column in query.find_all(exp.Column)} - {"*", ""}
    return (
        None if any(map(is_aggregate, query.find_all(exp.Anonymous))) or names - known else source
    )


def _conditions(
    where: Expression, columns: tuple[SourceColumn, ...], plain: int
) -> tuple[dict[int, list[object]], list[Test]] | None:
    """Return key values by position, and the other conditions; None if there are further ones.

    The first `plain` columns are the key; window bounds are ordinary conditions.
    """
    values: dict[int, list[object]] = {}
    tests: list[Test] = []
    for one in _conjuncts(where):
        among = _among(one, columns)
        if among is not None and among[0] < plain and among[0] not in values:
            values[among[0]] = among[1]
            continue
        test = _test(one, columns)
        if test is None:
            return None
        tests.append(test)
    return values, tests


def _conjuncts(where: Expression) -> Iterator[Expression]:
    match where:
        case Call("AND", (left, right)):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield where


def _among(one: Expression, columns: tuple[SourceColumn, ...]) -> tuple[int, list[object]] | None:
    """Return column position and values of `column = value` or `column IN (values)`."""
    match one:
        case Call(name, args) if name in {PREFIX + "EQUAL", PREFIX + "IN"}:
            column, *given = args
            if name == PREFIX + "EQUAL" and isinstance(given[0], ColumnRef):
                column, given = given[0], [column]
            if not isinstance(column, ColumnRef):
                return None
            at = _place(column)
            found = [_value(value, columns[at].type) for value in given]
            return None if any(value is None for value in found) else (at, found)
        case _:
            return None


def _test(one: Expression, columns: tuple[SourceColumn, ...]) -> Test | None:
    match one:
        case Call(name, (left, right)) if name in _COMPARED:
            if isinstance(right, ColumnRef):
                left, right = right, left
                plain = name.removeprefix(PREFIX)
                name = PREFIX + _TURNED.get(plain, plain)
            if not isinstance(left, ColumnRef):
                return None
            at = _place(left)
            value = _value(right, columns[at].type)
            return None if value is None else (at, _COMPARED[name], value)
        case _:
            return None


def _value(given: Expression, of: Type) -> object:
    """Return a literal as a value of the column's type; None if that needs a database."""
    if isinstance(given, Call) and given.function == PREFIX + "CAST" and numeric(of):
        given = given.args[0]
    if not isinstance(given, Literal) or of not in _SIMPLE or given.value is None:
        return None
    if numeric(of) != numeric(given.type):
        return None
    if of == DOUBLE:
        assert isinstance(given.value, int | float | PythonDecimal)
        return float(given.value)
    if of in {INT, BIGINT}:
        return _integer(given.value)
    return given.value


def _integer(value: object) -> int | None:
    """Return a number as an integer, `1` for `1.0`; None if it has a fraction."""
    assert isinstance(value, int | float | PythonDecimal), value
    return int(value) if value % 1 == 0 else None


def _place(of: Expression) -> int:
    assert isinstance(of, ColumnRef), of
    return int(of.name)

"""ksqlDB's restrictions of pull queries; Duolog applies them only with `ksql.compatibility=strict`.

    SELECT … FROM one_source [WHERE …] [LIMIT n]     no JOIN, WINDOW, GROUP BY, PARTITION BY, HAVING
    ROWPARTITION, ROWOFFSET                          neither in SELECT nor in WHERE
    WHERE over a table                               with table scans disabled, the whole key with =

Source: ksqlDB's documentation of pull queries; the messages are those that its users search for.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError, syntax_error
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.bound import unwrapped
from duolog.ksql.expressions.scope import SqlScope, Visible
from duolog.ksql.settings import LIMIT, RANGE_SCAN, TABLE_SCAN, Settings
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.query_parser import SEE_PULL_QUERIES
from duolog.plan.expressions import ColumnRef
from duolog.plan.types import STRING

_CLAUSES: Final = {
    "joins": "JOIN",
    "stream_window": "WINDOW",
    "group": "GROUP BY",
    "partition_by": "PARTITION BY",
    "having": "HAVING",
}
_NOT_ASKED: Final = ("ROWPARTITION", "ROWOFFSET")
_RANGES: Final = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def ensure_clauses(select: exp.Select, settings: Settings, text: str) -> None:
    """Refuse clauses and columns that a pull query may not have, before names are resolved.

    Raises:
        SqlError: the query has one. `text` is the query's source.
    """
    if (order := select.args.get("order")) and (at := place_of(order)):
        # ksqlDB reads ORDER as an alias, and reports the BY after it.
        raise syntax_error(at, "", text)
    for key, words in _CLAUSES.items():
        if found := select.args.get(key):
            at = place_of(found[0] if isinstance(found, list) else found)
            raise SqlError(f"Pull queries don't support {words} clauses.{SEE_PULL_QUERIES}", at=at)
    if select.args.get("limit") and settings.truth(LIMIT) is False:
        raise SqlError(
            "LIMIT clause in pull queries is currently disabled. You can enable them by setting "
            f"{LIMIT}=true.{SEE_PULL_QUERIES}"
        )
    where = select.args.get("where")
    for clause, nodes in (("SELECT", select.expressions), ("WHERE", [where] if where else [])):
        columns = (column for node in nodes for column in node.find_all(exp.Column))
        named = {column.name: column for column in columns if column.name in _NOT_ASKED}
        if named:
            listed_text = ", ".join(f"`{name}`" for name in named)
            raise SqlError(
                f"Pull queries don't support the following columns in {clause} "
                f"clauses: {listed_text}",
                at=place_of(next(iter(named.values()))),
            )


def ensure_by_key(select: exp.Select, source: SourceInfo, settings: Settings) -> None:
    """Refuse a pull query that needs a table scan, if scans are disabled.

    Raises:
        SqlError: an alternative in WHERE does not specify the whole key.
    """
    if not source.is_table or settings.truth(TABLE_SCAN) is not False:
        return
    where = select.args.get("where")
    if where is None:
        raise SqlError(f"Missing WHERE clause.{SEE_PULL_QUERIES}")
    for alternative in _alternatives(where.this):
        _ensure_alternative(alternative, source, ranges=settings.truth(RANGE_SCAN) is not False)


def ensure_in_values(select: exp.Select, sources: Mapping[str, SourceInfo]) -> None:
    """Refuse a value in IN that = would refuse: ksqlDB compares each value separately.

    Raises:
        SqlError: a value is null, or its type cannot be compared with the column.
    """
    source, where = sources.get(select.args["from_"].this.name), select.args.get("where")
    if source is None or not source.is_table or where is None:
        return
    columns = tuple(
        Visible(source.name, column.name, ColumnRef(column.name), column.type)
        for column in (*source.key, *source.value)
    )
    binder = Binder(SqlScope(columns, "WHERE"), {})
    for found in where.find_all(exp.In):
        column = unwrapped(found.this)
        if not isinstance(column, exp.Column) or binder.scope.get(column) is None:
            continue
        for value in found.expressions:
            if isinstance(unwrapped(value), exp.Literal | exp.Null | exp.Boolean | exp.Neg):
                binder.condition(exp.EQ(this=column.copy(), expression=value.copy()))


def _alternatives(node: exp.Expression) -> Iterator[tuple[exp.Expression, ...]]:
    """Yield the conjunctions of a condition in disjunctive normal form."""
    node = unwrapped(node)
    match node:
        case exp.Or():
            yield from _alternatives(node.this)
            yield from _alternatives(node.expression)
        case exp.And():
            sides = (list(_alternatives(side)) for side in (node.this, node.expression))
            for left, right in product(*sides):
                yield left + right
        case _:
            yield (node,)


def _ensure_alternative(
    conditions: Sequence[exp.Expression], source: SourceInfo, *, ranges: bool
) -> None:
    keys = [column.name for column in source.key]
    seen: list[str] = []
    needs_scan = False
    for condition in conditions:
        key = _key_compared(condition, keys)
        if key is None:
            continue
        if key in seen:
            raise SqlError(
                "A comparison condition on the key column cannot be combined with other "
                "comparisons such as an IN predicate",
                at=place_of(condition),
            )
        seen.append(key)
        if isinstance(condition, _RANGES):
            # Stores are sorted by bytes, which is the order of values for strings only.
            in_order = len(keys) == 1 and source.key[0].type == STRING
            needs_scan = needs_scan or not ranges or not in_order
        elif not isinstance(condition, exp.EQ | exp.In):
            listed = ", ".join(map(str, source.key))
            raise SqlError(
                f"Bound on key columns '[{listed}]' must currently be '='. ", at=place_of(condition)
            )
    if not seen:
        listed_text = " AND ".join(map(formatted, conditions))
        raise SqlError(f"WHERE clause missing key column for disjunct: {listed_text}")
    if len(seen) < len(keys):
        raise SqlError(
            "Multi-column sources must specify every key in the WHERE clause. Specified: "
            f"[{', '.join(f'`{name}`' for name in seen)}] Expected: "
            f"[{', '.join(map(str, source.key))}]."
        )
    if needs_scan:
        raise SqlError(
            "Query requires table scan to be enabled",
            hint=f"Compare all of the key with =, or SET '{TABLE_SCAN}' = 'true';",
        )


def _key_compared(condition: exp.Expression, keys: Sequence[str]) -> str | None:
    """Return the key column in a condition, or None if the condition is on other columns.

    Raises:
        SqlError: a key column is not compared with a constant.
    """
    sides = _sides(condition)
    named = [{column.name for column in side.find_all(exp.Column)} for side in sides]
    if not any(names & set(keys) for names in named):
        return None
    direct = [side.name for side in sides if isinstance(side, exp.Column) and side.name in keys]
    if not direct:
        raise SqlError("A comparison must directly reference a key column.", at=place_of(condition))
    others = [side for side in sides if not (isinstance(side, exp.Column) and side.name in keys)]
    if len(direct) != 1 or any(side.find(exp.Column) for side in others):
        raise SqlError(
            "A comparison must be between a key column and a resolvable expression.",
            at=place_of(condition),
        )
    return str(direct[0])


def _sides(condition: exp.Expression) -> list[exp.Expression]:
    match condition:
        case exp.In():
            return [unwrapped(condition.this), *map(unwrapped, condition.expressions)]
        case exp.Binary():
            return [unwrapped(condition.this), unwrapped(condition.expression)]
        case _:
            return [condition]

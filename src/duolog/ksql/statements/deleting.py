"""Run DELETE FROM: write a tombstone for each key that WHERE names.

    DELETE FROM t WHERE k = 'a'
    DELETE FROM t WHERE k IN ('a', 'b') AND n = 1        each combination of the values

Tombstones are written whether or not the rows exist, because writers of a topic do not read it.
"""

from itertools import product

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.catalog.hints import named
from duolog.ksql.catalog.schemas import with_schemas
from duolog.ksql.errors import SqlError, syntax_error
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.expressions.bound import unwrapped
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.planning.tombstones import ensure_no_result
from duolog.ksql.statements.insert_values import value_of
from duolog.ksql.statements.state import Done, InsertedRow, SessionState
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import text_of
from duolog.plan.expressions import Literal


def delete_rows(state: SessionState, node: nodes.DeleteRows) -> Done:
    """Run DELETE; the caller writes the tombstones.

    Raises:
        SqlError: rows of this source cannot be deleted, or WHERE does not name whole keys.
    """
    if state.settings.strict and (at := place_of(node)):
        raise syntax_error(at, "Unknown statement 'DELETE'", text_of(node))
    source = named(state.catalog.sources, node.this, "{} does not exist.")
    _ensure_deletable(source, node)
    given = _given(source, node)
    binder = Binder(SqlScope((), "WHERE"), state.catalog.types)
    values = []
    for column in source.key:
        values.append(
            [value_of(binder, column.name, column.type, one) for one in given[column.name]]
        )
        nulls = [one for one in values[-1] if isinstance(one, Literal) and one.value is None]
        if nulls:
            raise SqlError(
                f"Key column `{column.name}` of {source.name} cannot be null.",
                at=place_of(node.args["where"]),
            )
    names = [column.name for column in source.key]
    source = with_schemas(source, state.settings, writes=True)
    rows = (tuple(zip(names, key, strict=True)) for key in product(*values))
    return Done(node, inserted=tuple(InsertedRow(source, row, tombstone=True) for row in rows))


def _ensure_deletable(source: SourceInfo, node: nodes.DeleteRows) -> None:
    at = place_of(node.this)
    if not source.is_table:
        raise SqlError(
            f"Cannot delete rows of {source.name}: it is a stream.",
            at=at,
            hint="Use INSERT INTO … NULL VALUES KEY (…) to write a record with a null value.",
        )
    if source.read_only:
        raise SqlError(f"Cannot delete rows of read-only table: {source.name}", at=at)
    ensure_no_result(source, node)
    if source.window is not None:
        raise SqlError(
            f"Cannot delete rows of {source.name}: its keys are windowed.",
            at=at,
        )


def _given(source: SourceInfo, node: nodes.DeleteRows) -> dict[str, list[exp.Expression]]:
    """Return the values in WHERE, by key column.

    Raises:
        SqlError: WHERE is missing, has other conditions, or does not name the whole key.
    """
    keys = [column.name for column in source.key]
    hint = "Write WHERE " + " AND ".join(f"{name} = …" for name in keys) + ", or IN (…)."
    where = node.args.get("where")
    if where is None:
        raise SqlError(
            f"DELETE requires a WHERE clause with the key of {source.name}.",
            at=place_of(node.this),
            hint=hint,
        )
    found: dict[str, list[exp.Expression]] = {}
    for condition in _conditions(where.this):
        name, values = _matched(condition, source.name)
        if name not in keys or name in found:
            raise SqlError(
                "DELETE accepts one condition for each key column: "
                + (f"`{name}` has two." if name in found else _reason(source, name)),
                at=place_of(condition),
                hint=hint,
            )
        found[name] = values
    if missing := [name for name in keys if name not in found]:
        raise SqlError(
            f"DELETE requires the whole key of {source.name}: {', '.join(missing)} is missing.",
            at=place_of(where),
            hint=hint,
        )
    return found


def _reason(source: SourceInfo, name: str) -> str:
    known = name in {column.name for column in source.columns}
    return f"`{name}` is not a key column." if known else f"there is no column `{name}`."


def _conditions(node: exp.Expression) -> list[exp.Expression]:
    node = unwrapped(node)
    if isinstance(node, exp.And):
        return [*_conditions(node.this), *_conditions(node.expression)]
    return [node]


def _matched(condition: exp.Expression, source: str) -> tuple[str, list[exp.Expression]]:
    """Return column and values of `column = value` or `column IN (values)`.

    Raises:
        SqlError: the condition has another form.
    """
    match condition:
        case exp.EQ():
            sides = unwrapped(condition.this), unwrapped(condition.expression)
            for column, value in (sides, sides[::-1]):
                if _is_column(column, source):
                    return column.name, [value]
        case exp.In() if _is_column(column := unwrapped(condition.this), source):
            return column.name, list(condition.expressions)
    raise SqlError(
        "DELETE accepts only `column = value` and `column IN (values)`, combined by AND.",
        at=place_of(condition),
    )


def _is_column(node: exp.Expression, source: str) -> bool:
    return isinstance(node, exp.Column) and node.table in {"", source}

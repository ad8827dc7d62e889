"""Project the result of a query: its key and value columns, with their final names.

    records keyed by k ─▶ project (values) ─▶ rename (key and value)

An item is a key column if it has the meaning of one: k, s.k, or ABS(x) if records are keyed by
ABS(x). Each key column must be selected exactly once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.planning.analysis import Item, error_text, key_name, listed, meaning
from duolog.ksql.planning.sources import KeyColumn
from duolog.ksql.planning.steps import Steps, unused
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.nodes import Node, Project, Rename
from duolog.plan.types import NULL, parts_of

if TYPE_CHECKING:
    from duolog.plan.expressions import Named

GROUPING: Final = "grouping expression"
PARTITIONING: Final = "partitioning expression"
JOINING: Final = "join expression"
FOREIGN_KEY: Final = "primary key column of the left table"


@dataclass(frozen=True, slots=True)
class View:
    """Records to project, with a binder for the items, and their key."""

    node: Node
    binder: Binder
    scope: SqlScope
    keys: tuple[KeyColumn, ...]
    keyed_by: str = "key column"

    @property
    def grouped(self) -> bool:
        return self.keyed_by == GROUPING


@dataclass(frozen=True, slots=True)
class Projected:
    """Result of a query: records, and their columns for the catalog."""

    node: Node
    columns: tuple[SqlColumn, ...]


def project(
    view: View, items: Sequence[Item], sink: str, steps: Steps, *, keys_only: bool = False
) -> Projected:
    """Project the result of a query. With `keys_only` it may consist of key columns only.

    Raises:
        SqlError: a key column is not selected or selected twice, there is no value column, or two
            columns have the same
            name.
    """
    types = [(item, view.binder.bind(item.node)) for item in items]
    found = _found_keys(view, items)
    if sink:
        _ensure_selected(view, found, sink)
    for key, of_key in zip(view.keys, found, strict=True):
        _ensure_once(view, key, of_key)
    in_key = {id(item) for of_key in found for item in of_key}
    bound = [(item, _typed(one, item)) for item, one in types if id(item) not in in_key]
    if not bound and not keys_only:
        raise SqlError("The projection contains no value columns.")
    keys = [
        of_key[0].name if of_key else key_name(key.given[0])
        for key, of_key in zip(view.keys, found, strict=True)
    ]
    columns = tuple(
        SqlColumn(name, of, "KEY")
        for name, (_, of) in zip(keys, view.node.schema.inner_key, strict=True)
    )
    columns += tuple(SqlColumn(item.name, one.type) for item, one in bound)
    _ensure_distinct(columns)
    return Projected(_named(view.node, bound, keys, steps), columns)


def _named(
    node: Node, bound: Sequence[tuple[Item, Bound]], keys: Sequence[str], steps: Steps
) -> Node:
    taken = {column.name for column in node.schema.key}
    values: list[Named] = []
    for item, one in bound:
        values.append((unused(item.name, taken), one.expression))
        taken.add(values[-1][0])
    projected = steps.add("project", lambda name: Project(name, node, tuple(values)))
    names = tuple(item.name for item, _ in bound)
    if (*keys, *names) == (*(c.name for c in node.schema.inner_key), *(name for name, _ in values)):
        return projected
    return steps.add("names", lambda name: Rename(name, projected, tuple(keys), names))


def _found_keys(view: View, items: Sequence[Item]) -> list[list[Item]]:
    """Return, for each key column, the items that select it."""
    meanings = [meaning(item.node, view.scope) for item in items]
    found = []
    for key in view.keys:
        wanted = [meaning(given, view.scope) for given in key.given]
        matches = [
            [item for item, of in zip(items, meanings, strict=True) if of == one] for one in wanted
        ]
        found.append(next(filter(None, matches), []))
    return found


def _ensure_selected(view: View, found: Sequence[Sequence[Item]], sink: str) -> None:
    if all(found):
        return
    if view.keyed_by == FOREIGN_KEY:
        raise _primary_key_missing(view, found)
    if len(view.keys) == 1:
        texts = [error_text(given, view.scope) for given in view.keys[0].given]
        word = "or"
    else:
        texts = [error_text(key.given[0], view.scope) for key in view.keys]
        word = "and"
    plural = "s" if len(texts) > 1 else ""
    example = texts[0] if word == "or" else ", ".join(texts)
    raise SqlError(
        "Key missing from projection (ie, SELECT). See https://cnfl.io/2LV7ouS.\n"
        f"The query used to build `{sink}` must include the {view.keyed_by}{plural} "
        f"{listed(texts, word)} in its projection (eg, SELECT "
        f"{example}...).{''.join(key.note for key in view.keys)}"
    )


def _primary_key_missing(view: View, found: Sequence[Sequence[Item]]) -> SqlError:
    columns = [key.given[0] for key, of_key in zip(view.keys, found, strict=True) if not of_key]
    assert all(isinstance(column, exp.Column) for column in columns), columns
    plural = "s" if len(columns) > 1 else ""
    names = ", ".join(f"`{column.name}`" for column in columns)
    return SqlError(
        f"Primary key column{plural} missing in projection. For foreign-key table-table joins, the "
        "projection must include all primary key columns from the left input table "
        f"(`{columns[0].args['table'].name}`). Missing column{plural}: {names}."
    )


def _ensure_once(view: View, key: KeyColumn, found: Sequence[Item]) -> None:
    if len(found) < 2:
        return
    names = [item.name for item in found]
    if view.grouped:
        quoted = [f"`{name}`" for name in names]
        raise SqlError(f"The projection contains a key column more than once: {listed(quoted)}.")
    raise SqlError(
        f"The projection contains a key column (`{key_name(key.given[0])}`) more than once, "
        f"aliased as: {listed(sorted(names))}."
    )


def _typed(bound: Bound, item: Item) -> Bound:
    if NULL in parts_of(bound.type):
        raise SqlError(
            "Can't infer a type of null. Please explicitly cast it to a required type, "
            "e.g. CAST(null AS VARCHAR).",
            at=place_of(item.node),
        )
    return bound


def _ensure_distinct(columns: Sequence[SqlColumn]) -> None:
    seen = set()
    for column in columns:
        if column.name in seen:
            part = "key" if column.role == "KEY" else "value"
            raise SqlError(
                f"Duplicate {part} columns found in schema: `{column.name}` {sql_name(column.type)}"
            )
        seen.add(column.name)

"""Name and bind the columns of a new key, for GROUP BY, PARTITION BY and joins."""

from collections.abc import Collection, Sequence
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.catalog.format_support import ensure_no_maps
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.planning.analysis import error_text
from duolog.ksql.planning.sources import Relation
from duolog.ksql.planning.steps import unused
from duolog.plan.expressions import ColumnRef, Named

SYNTHETIC: Final = "ROWKEY"


def synthetic(taken: Collection[str]) -> str:
    """Return a name for a key without a source column: ROWKEY, or ROWKEY_n if that is in use."""
    name, count = SYNTHETIC, 0
    while name in taken:
        count += 1
        name = f"{SYNTHETIC}_{count}"
    return name


def new_key(
    given: Sequence[exp.Expression], binder: Binder, relation: Relation
) -> tuple[Named, ...]:
    """Return a key column for each expression. Source columns keep their names.

    Raises:
        SqlError: an expression is invalid, or is a MAP.
    """
    taken = set(relation.node.schema.names)
    keys: dict[str, Named] = {}
    for node in given:
        bound, of = binder.bind(node)
        known = binder.scope.get(node) if isinstance(node, exp.Column) else None
        ensure_no_maps([SqlColumn(known.name if known else "KSQL_COL_0", of, "KEY")])
        if isinstance(bound, ColumnRef) and bound.name not in keys:
            name = bound.name
        else:
            name = unused(error_text(node, relation.scope), taken)
        taken.add(name)
        keys[name] = (name, bound)
    return tuple(keys.values())

"""Plan PARTITION BY: rekey a stream."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.planning.analysis import Item, meaning
from duolog.ksql.planning.join_limits import no_repartitioning
from duolog.ksql.planning.key_rules import ensure_key_expressions
from duolog.ksql.planning.keys import new_key
from duolog.ksql.planning.null_values import Presence
from duolog.ksql.planning.projection import PARTITIONING
from duolog.ksql.planning.sources import KeyColumn, Relation
from duolog.ksql.planning.steps import Steps
from duolog.ksql.syntax.nodes import PartitionBy, place_of
from duolog.plan.expressions import ColumnRef
from duolog.plan.nodes import SelectKey
from duolog.plan.types import Type


def partitioned(
    relation: Relation,
    clause: PartitionBy,
    types: Mapping[str, Type],
    steps: Steps,
    *,
    strict: bool,
) -> Relation:
    """Rekey a stream; PARTITION BY NULL removes the key.

    Raises:
        SqlError: the source is a table, an expression cannot be a key, or a name is unknown. With
            `strict`, also if the key
            is windowed, which ksqlDB cannot replace.
    """
    if relation.node.is_table:
        raise SqlError(
            "PARTITION BY is only supported for STREAMs. See https://cnfl.io/2LV7ouS.",
            at=place_of(clause),
        )
    given = clause.expressions
    if len(given) == 1 and isinstance(given[0], exp.Null):
        given = []
    elif given or strict:
        ensure_key_expressions("PARTITION BY", given, relation.scope)
    if strict and relation.node.schema.window is not None and not _is_own_key(relation, given):
        raise no_repartitioning(clause)
    binder = Binder(relation.scope.within("PARTITION BY"), types)
    presence = Presence(relation, steps)
    keys = tuple((name, presence.of_value(of)) for name, of in new_key(given, binder, relation))
    stream = presence.relation.node
    node = steps.add("select-key", lambda name: SelectKey(name, stream, keys, keeps_nulls=True))
    return replace(
        relation,
        node=node,
        keys=tuple(KeyColumn(name, (one,)) for (name, _), one in zip(keys, given, strict=True)),
        keyed_by=PARTITIONING,
    )


def _is_own_key(relation: Relation, given: Sequence[exp.Expression]) -> bool:
    """Return true if the expressions are the existing key."""
    own = [meaning(key.given[0], relation.scope) for key in relation.keys]
    return own == [meaning(node, relation.scope) for node in given]


def keyed_as_selected(relation: Relation, items: Sequence[Item], steps: Steps) -> Relation:
    """Key a stream by those of its key columns that are selected, in select order."""
    if relation.node.is_table or relation.node.schema.window is not None:
        return relation
    by_meaning = {meaning(key.given[0], relation.scope): key for key in relation.keys}
    found = (by_meaning.get(meaning(item.node, relation.scope)) for item in items)
    keys = tuple(dict.fromkeys(key for key in found if key is not None))
    if keys == relation.keys:
        return relation
    stream = relation.node
    named = tuple((key.name, ColumnRef(key.name)) for key in keys)
    node = steps.add("select-key", lambda name: SelectKey(name, stream, named))
    return replace(relation, node=node, keys=keys)

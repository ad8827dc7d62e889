"""Keys of joined records: the criterion in the order of a key, and the columns equal to it.

    a JOIN b ON a.x = b.id      key columns of the result: a.x, which equals b.id

A LEFT or RIGHT join may leave the columns of one side null.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from sqlglot import exp

from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.catalog.format_support import ensure_no_maps
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.planning.analysis import key_name, meaning
from duolog.ksql.planning.join_criteria import Criterion, Matched
from duolog.ksql.planning.keys import SYNTHETIC
from duolog.ksql.planning.sources import KeyColumn, Relation
from duolog.ksql.syntax.nodes import place_of


class JoinKey(NamedTuple):
    """Source columns equal to a key column of a join; `or_null` are those that may be null."""

    columns: tuple[exp.Expression, ...]
    or_null: tuple[exp.Expression, ...]
    expressions: frozenset[str]
    """Other expressions with the same value, as canonical texts."""


def side_of(join: exp.Join) -> str:
    """Return INNER, LEFT, RIGHT or FULL."""
    return str(join.args.get("side") or "INNER")


def is_key(side: Relation, matched: Sequence[Matched]) -> bool:
    """Return true if the records are keyed by their side of the criterion."""
    return len(side.keys) == len(matched) and all(
        _is_column(side, key, one) for key, one in zip(side.keys, matched, strict=True)
    )


def in_order_of(side: Relation, criterion: Criterion, own: Literal["left", "right"]) -> Criterion:
    """Return the criterion in the order of a side's key, or unchanged if they differ."""
    found = []
    for key in side.keys:
        of_key = (
            pair
            for pair in criterion.pairs
            if pair not in found
            and _is_column(side, key, pair.left if own == "left" else pair.right)
        )
        found += [next(of_key, None)]
    pairs = tuple(pair for pair in found if pair is not None)
    whole = len(pairs) == len(side.keys) == len(criterion.pairs)
    return replace(criterion, pairs=pairs) if whole else criterion


def by_primary_key(right: Relation, criterion: Criterion, what: str, key: str) -> Criterion:
    """Return the pairs in the order of the table's primary key.

    Raises:
        SqlError: the pairs do not match the primary key.
    """
    found = in_order_of(right, criterion, own="right")
    if not is_key(right, found.rights):
        raise SqlError(
            f"Invalid join condition: {what} require to join on {key}. Got {criterion}.",
            at=place_of(criterion.rights[0].node),
        )
    return found


def join_keys_of(left: Relation, criterion: Criterion, join: exp.Join) -> list[JoinKey]:
    """Return the source columns of each key column of a join, those of the left side first."""
    keyed, side = _is_keyed(left, criterion), side_of(join)
    join_keys = []
    for at, pair in enumerate(criterion.pairs):
        ours = left.keys[at].given if keyed else _column(pair.left, criterion.scope)
        theirs = _column(pair.right, criterion.scope)
        or_null = left.keys[at].or_null if keyed else ()
        if side == "LEFT":
            or_null += theirs
        elif side == "RIGHT":
            or_null = ours
        equal = left.keys[at].expressions if keyed else frozenset()
        equal |= {
            meaning(one.node, criterion.scope)
            for one in (pair.left, pair.right)
            if not one.is_column
        }
        join_keys.append(JoinKey(ours + theirs, or_null, equal))
    return join_keys


def ensure_key(join_keys: Sequence[JoinKey], criterion: Criterion) -> None:
    for given, one in zip(join_keys, criterion.lefts, strict=True):
        name = key_name(given.columns[0]) if given.columns else SYNTHETIC
        ensure_no_maps([SqlColumn(name, one.bound.type, "KEY")])


def _is_column(side: Relation, key: KeyColumn, matched: Matched) -> bool:
    wanted = meaning(matched.node, side.scope)
    sure = (one for one in key.given if one not in key.or_null)
    return matched.is_column and any(wanted == meaning(one, side.scope) for one in sure)


def _is_keyed(left: Relation, criterion: Criterion) -> bool:
    """Return true if the records are already keyed by the criterion, as columns or expressions."""
    if is_key(left, criterion.lefts):
        return True
    wanted = [meaning(matched.node, criterion.scope) for matched in criterion.lefts]
    return len(wanted) == len(left.keys) and all(
        one in key.expressions for one, key in zip(wanted, left.keys, strict=True)
    )


def _column(matched: Matched, scope: SqlScope) -> tuple[exp.Expression, ...]:
    """Return a column qualified by its source; nothing for other expressions."""
    if not isinstance(matched.node, exp.Column):
        return ()
    found = scope.find(matched.node)
    name, source = (exp.to_identifier(one, quoted=True) for one in (found.name, found.source))
    return (exp.column(name, table=source),)

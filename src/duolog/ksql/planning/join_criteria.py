"""Parse ON …: the expressions by which the sides of a join match.

    ON l.a = r.b                      an expression over the joined sources, one over the new one
    ON l.a = r.b AND l.c + m.d = r.e  extension to ksqlDB: several, and over several sources

The sides may be in either order; errors repeat them as written.

Source: ksqlDB's documentation of joins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.bound import unwrapped
from duolog.ksql.expressions.scope import SqlScope, is_parameter
from duolog.ksql.planning.analysis import meaning
from duolog.ksql.planning.sources import Relation
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import Type


@dataclass(frozen=True, slots=True)
class Matched:
    """One side of an equality."""

    node: exp.Expression
    bound: Bound

    @property
    def is_column(self) -> bool:
        return isinstance(self.node, exp.Column)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides that must be equal: `left` over the sources so far, `right` over the new one."""

    left: Matched
    right: Matched
    flipped: bool
    """True if the right side is written first."""

    @property
    def written(self) -> tuple[Matched, Matched]:
        return (self.right, self.left) if self.flipped else (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Criterion:
    """The pairs of a join, which must all be equal."""

    pairs: tuple[Pair, ...]
    scope: SqlScope

    def __str__(self) -> str:
        return " AND ".join(
            " = ".join(meaning(one.node, self.scope) for one in pair.written) for pair in self.pairs
        )

    @property
    def lefts(self) -> tuple[Matched, ...]:
        return tuple(pair.left for pair in self.pairs)

    @property
    def rights(self) -> tuple[Matched, ...]:
        return tuple(pair.right for pair in self.pairs)

    def ensure_types(self) -> None:
        """Raise a SqlError if the sides of a pair have different types."""
        for pair in self.pairs:
            if pair.left.bound.type == pair.right.bound.type:
                continue
            condition_text = " = ".join(
                f"{meaning(one.node, self.scope)}{{{sql_name(one.bound.type)}}}"
                for one in pair.written
            )
            raise SqlError(
                f"Invalid join condition: types don't match. Got {condition_text}.",
                at=place_of(pair.written[0].node),
                hint="Cast one side to the type of the other.",
            )


@dataclass(frozen=True, slots=True)
class CriterionReader:
    """Parses the ON clause for the new source `comes`.

    `scope` includes it and the sources before it.

    With `strict`, only one equality between two sources is allowed, as in ksqlDB.
    """

    comes: str
    scope: SqlScope
    types: Mapping[str, Type]
    strict: bool

    def read(self, clause: exp.Expression) -> Criterion:
        """Parse an ON clause.

        Raises:
            SqlError: the clause is not an equality with the new source, or a name is unknown.
        """
        condition = unwrapped(clause)
        if self.strict and isinstance(condition, exp.And | exp.Or):
            raise SqlError(
                "Invalid join condition: joins on multiple conditions are not yet supported. "
                f"Got {meaning(condition, self.scope)}.",
                at=place_of(condition),
            )
        return Criterion(tuple(map(self._pair, _conditions(condition))), self.scope)

    def _pair(self, condition: exp.Expression) -> Pair:
        condition_text = meaning(condition, self.scope)
        if not isinstance(condition, exp.EQ):
            raise SqlError(
                f"Invalid join condition: only equality is supported. Got {condition_text}.",
                at=place_of(condition),
            )
        sides = unwrapped(condition.this), unwrapped(condition.expression)
        first, second = (self._sources(side, condition_text) for side in sides)
        if first == second:
            raise SqlError(
                "Each side of the join must reference exactly one source and not the same source. "
                f"Left side references {_listed(first)} and right references {_listed(second)}",
                at=place_of(condition),
            )
        flipped = first == {self.comes}
        if not flipped and second != {self.comes}:
            raise SqlError(
                "Invalid join condition: one side must reference only the source that is joined, "
                f"`{self.comes}`. Got {condition_text}.",
                at=place_of(condition),
            )
        binder = Binder(self.scope, self.types)
        left, right = (Matched(side, binder.bind(side)) for side in sides)
        return Pair(right, left, flipped) if flipped else Pair(left, right, flipped)

    def _sources(self, side: exp.Expression, condition_text: str) -> set[str]:
        """Return the sources of the columns in an expression.

        Raises:
            SqlError: there are none, or several although only one is allowed.
        """
        columns = (column for column in side.find_all(exp.Column) if not is_parameter(column))
        sources = {self.scope.find(column).source for column in columns}
        mixed = len(sources) > 1 and (self.strict or self.comes in sources)
        if mixed or not sources:
            raise SqlError(
                f"Invalid comparison expression '{meaning(side, self.scope)}' in join "
                f"'{condition_text}'. Each side of the join comparision must contain references "
                "from exactly one source.",
                at=place_of(side),
            )
        return sources


def ensure_tree(first: Relation, joins: Sequence[exp.Join], scope: SqlScope) -> None:
    """Refuse joins that do not add exactly one source each, as ksqlDB does.

    Args:
        first: the source after FROM.
        joins: the joins, in order.
        scope: the columns of all sources.

    Raises:
        SqlError: an equality is between two joined sources, or between two sources not joined yet.
    """
    joined = [first.scope.sources[0]]
    for join in joins:
        condition = unwrapped(join.args["on"])
        if not isinstance(condition, exp.EQ):
            return
        left, right = (_only_source(side, scope) for side in (condition.this, condition.expression))
        if left is None or right is None or left == right:
            return
        tree = " ⋈ ".join(joined)
        if left in joined and right in joined:
            raise SqlError(
                f"Cannot perform circular join - both `{right}` and `{left}` are already included "
                f"in the current join tree: {tree}",
                at=place_of(condition),
            )
        if left not in joined and right not in joined:
            raise SqlError(
                "Cannot build JOIN tree; neither source in the join is the FROM source or "
                f"included in a previous JOIN: {meaning(condition, scope)}. The current join tree "
                f"is {tree}",
                at=place_of(condition),
            )
        joined.append(right if left in joined else left)


def _only_source(side: exp.Expression, scope: SqlScope) -> str | None:
    """Return the only source of the columns in an expression, or None."""
    columns = (column for column in side.find_all(exp.Column) if not is_parameter(column))
    found = {column.source if (column := scope.get(node)) else "" for node in columns}
    return found.pop() if len(found) == 1 and "" not in found else None


def _conditions(node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of AND."""
    node = unwrapped(node)
    if isinstance(node, exp.And):
        return [*_conditions(node.this), *_conditions(node.expression)]
    return [node]


def _listed(sources: set[str]) -> str:
    return ", ".join(f"`{source}`" for source in sorted(sources))

"""ON …: what the records of two sides of a join are matched by.

    ON l.a = r.b      an expression over one source that is joined already, and one over the source that comes

They may stand in either order; errors repeat them as they are written.

Source: ksqlDB's documentation of joins.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from duolog.ksql.analysis import meaning
from duolog.ksql.binder import Binder, Bound
from duolog.ksql.bound import unwrapped
from duolog.ksql.errors import SqlError
from duolog.ksql.nodes import place_of
from duolog.ksql.scope import SqlScope, is_parameter
from duolog.ksql.types import sql_name
from duolog.plan.types import Type


@dataclass(frozen=True, slots=True)
class Matched:
    """One side of a criterion: an expression over one source."""

    node: exp.Expression
    source: str
    bound: Bound

    @property
    def is_column(self) -> bool:
        return isinstance(self.node, exp.Column)


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is matched: `left` of a source that is joined already, `right` of the one that comes."""

    left: Matched
    right: Matched
    flipped: bool
    """Whether the right one is written first."""
    scope: SqlScope

    def __str__(self) -> str:
        first, second = self._written
        return f"{meaning(first.node, self.scope)} = {meaning(second.node, self.scope)}"

    @property
    def _written(self) -> tuple[Matched, Matched]:
        return (self.right, self.left) if self.flipped else (self.left, self.right)

    def ensure_types(self) -> None:
        """Raise a SqlError where both sides are not of one type."""
        if self.left.bound.type == self.right.bound.type:
            return
        told = " = ".join(
            f"{meaning(one.node, self.scope)}{{{sql_name(one.bound.type)}}}"
            for one in self._written
        )
        raise SqlError(
            f"Invalid join condition: types don't match. Got {told}.",
            at=place_of(self._written[0].node),
            hint="Cast one side to the type of the other.",
        )


def criterion_of(
    clause: exp.Expression, comes: str, scope: SqlScope, types: Mapping[str, Type]
) -> Criterion:
    """Return what ON says; `scope` has the columns of the source that `comes` and of those before it.

    Raises:
        SqlError: it is no equality of two sources, or a name in it has no meaning.
    """
    scope = scope.within("JOIN ON")
    condition = unwrapped(clause)
    told = meaning(condition, scope)
    if isinstance(condition, exp.And | exp.Or):
        raise SqlError(
            "Invalid join condition: joins on multiple conditions are not yet supported. "
            f"Got {told}.",
            at=place_of(condition),
        )
    if not isinstance(condition, exp.EQ):
        raise SqlError(
            f"Invalid join condition: only equality is supported. Got {told}.",
            at=place_of(condition),
        )
    sides = (unwrapped(condition.this), unwrapped(condition.expression))
    sources = tuple(_source(side, told, scope) for side in sides)
    if sources[0] == sources[1]:
        raise SqlError(
            "Each side of the join must reference exactly one source and not the same source. "
            f"Left side references `{sources[0]}` and right references `{sources[1]}`",
            at=place_of(condition),
        )
    if comes not in sources:
        raise SqlError(
            f"Invalid join condition: one side must reference the source that is joined, `{comes}`. "
            f"Got {told}.",
            at=place_of(condition),
        )
    binder = Binder(scope, types)
    first, second = (
        Matched(side, source, binder.bind(side))
        for side, source in zip(sides, sources, strict=True)
    )
    if sources[0] == comes:
        return Criterion(second, first, flipped=True, scope=scope)
    return Criterion(first, second, flipped=False, scope=scope)


def _source(side: exp.Expression, told: str, scope: SqlScope) -> str:
    """Return the source whose columns an expression names.

    Raises:
        SqlError: there are none, or several.
    """
    columns = (column for column in side.find_all(exp.Column) if not is_parameter(column))
    sources = list(dict.fromkeys(scope.find(column).source for column in columns))
    if len(sources) != 1:
        raise SqlError(
            f"Invalid comparison expression '{meaning(side, scope)}' in join '{told}'. "
            "Each side of the join comparision must contain references from exactly one source.",
            at=place_of(side),
        )
    return sources[0]

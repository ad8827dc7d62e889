"""Find aggregate functions in expressions, and write their calls in DuckDB's SQL."""

from collections.abc import Iterator

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.aggregates import bind_aggregate
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.user_calls import user_function
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.aggregates.user_folds import OF_USER, UserAggregate
from duolog.plan.types import Type
from duolog.runtime.sql.duck.aggregates import AGGREGATES, Aggregate, takes, written
from duolog.runtime.sql.duck.expressions import Written, lowered
from duolog.runtime.sql.duck.offsets import BY_OFFSET
from duolog.runtime.sql.duck.user_functions import fold_of


def is_aggregate(node: exp.Expression) -> bool:
    """Return true for a call of an aggregate function, even if it is not allowed here."""
    if not isinstance(node, exp.Anonymous):
        return False
    if (of_user := user_function(node)) is not None:
        return of_user.kind == "aggregate"
    name = str(node.this).upper()
    return name in AGGREGATES or name in BY_OFFSET


def has_aggregate(node: exp.Expression, *, over: bool) -> bool:
    """Return true if an expression aggregates rows; `over` marks the call before OVER."""
    if isinstance(node, exp.Query | exp.Exists):
        return False
    if isinstance(node, exp.Window):
        return any(has_aggregate(one, over=one is node.this) for one in children_of(node))
    if isinstance(node, exp.Filter):
        return not over or any(has_aggregate(one, over=False) for one in children_of(node.this))
    if is_aggregate(node) and not over:
        return True
    return any(has_aggregate(one, over=False) for one in children_of(node))


def has_window(node: exp.Expression) -> bool:
    return node.find(exp.Window) is not None


def children_of(node: exp.Expression) -> Iterator[exp.Expression]:
    yield from node.iter_expressions()


def nested(node: exp.Expression, around: str) -> SqlError:
    return SqlError(
        f"{around} cannot contain an aggregate function",
        at=place_of(node) or next(filter(None, map(place_of, node.find_all(exp.Expression))), None),
        hint="Compute the inner one in a subquery: FROM (SELECT … ) AS x.",
    )


def call_of(found: Aggregate, name: str, call: exp.Anonymous, binder: Binder, suffix: str) -> Bound:
    given = [one for one in call.expressions if not isinstance(one, exp.Star)]
    distinct = any(isinstance(one, exp.Distinct) for one in given)
    nodes = [one.expressions[0] if isinstance(one, exp.Distinct) else one for one in given]
    args = [lowered(binder.bind(node).expression) for node in nodes]
    types = [one.type for one in args]
    if not takes(found, types):
        listed = ", ".join(map(sql_name, types))
        raise SqlError(
            f"Function '{name.lower()}' does not accept parameters ({listed}).", at=place_of(call)
        )
    return bound_sql(*written(found, [one.sql for one in args], types, suffix, distinct=distinct))


def call_of_user(call: exp.Anonymous, binder: Binder, suffix: str) -> Bound:
    aggregate = bind_aggregate(call, binder, Settings())
    kept = dict(aggregate.options)[OF_USER]
    assert isinstance(kept, UserAggregate), kept
    columns = () if aggregate.arg is None else (aggregate.arg, *aggregate.others)
    args = [lowered(one).sql for one in columns]
    return bound_sql(fold_of(kept, args, suffix), kept.routine.result)


def bound_sql(sql: str, of: Type) -> Bound:
    return Bound(Written(sql, of), of)

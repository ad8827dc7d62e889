"""Aggregate functions of the language as those of the plan."""

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from duolog.ksql.binder import Binder
from duolog.plan.expressions import Aggregate

Reader = Callable[[exp.Anonymous, Binder], Aggregate]


def _count(node: exp.Anonymous, binder: Binder) -> Aggregate:
    if not node.expressions or isinstance(node.expressions[0], exp.Star | exp.Literal):
        return Aggregate("count")
    return Aggregate("count", binder.bind(node.expressions[0]).expression)


def _of_one(name: str) -> Reader:
    return lambda node, binder: Aggregate(name, binder.bind(node.expressions[0]).expression)


AGGREGATES: Final[dict[str, Reader]] = {
    "COUNT": _count,
    "SUM": _of_one("sum"),
    "MIN": _of_one("min"),
    "MAX": _of_one("max"),
    "AVG": _of_one("avg"),
}

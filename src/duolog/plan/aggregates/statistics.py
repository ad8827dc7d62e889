"""Aggregate functions over means: variance, standard deviation, correlation.

The state is the mean and the sum of squares around it. A plain sum of squares would lose all its
digits if values are large and close together. Subtracting a value applies the same formula in
reverse.

Source: B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products"
(1962); T. F. Chan, G. H. Golub, R. J. LeVeque for merging two parts (1979).
"""

from collections.abc import Callable
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulators, call
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Cast,
    Expression,
    TableColumnRef,
    literal,
)
from duolog.plan.types import DOUBLE, numeric

_ZERO: Final = literal(0.0)
_ONE: Final = literal(1)


def _variance(kept: Accumulators, aggregate: Aggregate) -> Expression:
    x = _number(kept, aggregate, aggregate.arg)
    around = _Around(kept, x)
    squares = around.products(x, x, "squares")
    population = dict(aggregate.options)["population"]
    divisor = around.count if population else call("-", around.count, _ONE)
    found = call("/", squares, Cast(divisor, DOUBLE))
    enough = call(">", around.count, literal(0 if population else 1))
    spread = call("CASE", enough, found)
    return call("SQRT", spread) if aggregate.function == "stddev" else spread


def _corr(kept: Accumulators, aggregate: Aggregate) -> Expression:
    one = _number(kept, aggregate, aggregate.arg)
    other = _number(kept, aggregate, aggregate.others[0])
    # Only records in which both are not null count.
    x = call("CASE", call("IS_NOT_NULL", other), one)
    y = call("CASE", call("IS_NOT_NULL", one), other)
    around = _Around(kept, x)
    around.mean(y)
    both = around.products(x, y, "products")
    spread = call("*", around.products(x, x, "squares"), around.products(y, y, "squares"))
    found = call("/", both, call("SQRT", spread))
    bounded = call("GREATEST", call("LEAST", found, literal(1.0)), literal(-1.0))
    return call("CASE", call(">", spread, _ZERO), bounded)


class _Around:
    """The means of columns that are null in the same records, and sums of centred products."""

    def __init__(self, kept: Accumulators, x: Expression) -> None:
        self._kept = kept
        self._x = x
        self.count = kept.count(x)
        self._there = TableColumnRef(self.count.name)
        self.mean(x)

    def mean(self, x: Expression) -> AccumulatorRef:
        name = _mean_name(x)
        mean, other = AccumulatorRef(name), TableColumnRef(name)
        away = call("-", Cast(x, DOUBLE), mean)
        more, less = call("+", self.count, _ONE), call("-", self.count, _ONE)
        both = call("+", self.count, self._there)
        apart = call("*", call("-", other, mean), Cast(self._there, DOUBLE))
        return self._kept.keep(
            name,
            DOUBLE,
            _ZERO,
            add=self._where_known(call("+", mean, _over(away, more)), mean),
            subtract=self._where_known(self._unless_last(call("-", mean, _over(away, less))), mean),
            merge=call("IF", self._none(), mean, call("+", mean, _over(apart, both))),
        )

    def products(self, x: Expression, y: Expression, what: str) -> AccumulatorRef:
        """Add the sum of (x - mean of x)(y - mean of y)."""
        name = f"{what}({x})" if x == y else f"{what}({x}, {y})"
        kept, other = AccumulatorRef(name), TableColumnRef(name)
        away = [call("-", Cast(of, DOUBLE), AccumulatorRef(_mean_name(of))) for of in (x, y)]
        apart = [
            call("-", TableColumnRef(_mean_name(of)), AccumulatorRef(_mean_name(of)))
            for of in (x, y)
        ]
        more, less = call("+", self.count, _ONE), call("-", self.count, _ONE)
        count, there = Cast(self.count, DOUBLE), Cast(self._there, DOUBLE)
        back = call("-", kept, _over(call("*", call("*", *away), count), less))
        if x == y:
            back = call("GREATEST", back, _ZERO)
        both = call("+", self.count, self._there)
        between = call("*", call("*", *apart), call("*", count, there))
        longer = call("+", kept, _over(call("*", call("*", *away), count), more))
        return self._kept.keep(
            name,
            DOUBLE,
            _ZERO,
            add=self._where_known(longer, kept),
            subtract=self._where_known(self._unless_last(back), kept),
            merge=call(
                "IF", self._none(), kept, call("+", call("+", kept, other), _over(between, both))
            ),
        )

    def _where_known(self, value: Expression, otherwise: Expression) -> Expression:
        return call("IF", call("IS_NULL", self._x), otherwise, value)

    def _unless_last(self, value: Expression) -> Expression:
        """Return 0 if the group becomes empty, so that no rounding error remains."""
        return call("IF", call("<=", self.count, _ONE), _ZERO, value)

    def _none(self) -> Expression:
        return call("=", self._there, literal(0))


def _over(value: Expression, count: Expression) -> Expression:
    return call("/", value, Cast(count, DOUBLE))


def _mean_name(x: Expression) -> str:
    return f"mean({x})"


def _number(kept: Accumulators, aggregate: Aggregate, arg: Expression | None) -> Expression:
    if arg is None:
        raise TypeMismatch(f"{aggregate} does not exist", hint="Name a column of numbers.")
    of = kept.type_of(arg, function=aggregate.function)
    if not numeric(of):
        raise TypeMismatch(f"{aggregate} needs numbers", detail=f"{arg} is a {of}.")
    return arg


STATISTICS: Final[dict[str, Callable[[Accumulators, Aggregate], Expression]]] = {
    "variance": _variance,
    "stddev": _variance,
    "corr": _corr,
}
"""The folds by function name."""

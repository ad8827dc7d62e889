"""Aggregate functions as folds: the accumulators of each function, their steps, and the result.

A fold over a stream only adds records. A fold over a grouped table also subtracts old rows.
Functions share accumulators: `sum(x)`, `avg(x)` and `count(x)` of one aggregation use one sum and
one count.

    function   state over a stream        state over a table
    count(*)   count(*)                   count(*)
    count(x)   count(x)                   count(x)
    sum(x)     sum(x), initially null     sum(x), initially 0, and count(x): null if that is 0
    avg(x)     sum(x), count(x)           sum(x), count(x)
    min, max   the value                  all values with their counts, and the value

Functions that collect values (lists, sets, sketches) are in `collecting`, variance and correlation
in `statistics`, and SQL's functions, which differ in types and nulls, in `sql_folds`.

If a sum of DECIMALs does not fit its type, the record that caused it fails. Integers wrap, as in
Java: after later subtractions the sum is correct again.

Source: Kafka Streams `KGroupedStream` and `KGroupedTable`; the null rules are SQL's.
"""

from dataclasses import dataclass
from itertools import starmap
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulator, Accumulators, added, call, null_of
from duolog.plan.aggregates.collecting import COLLECTING
from duolog.plan.aggregates.greatest import extreme
from duolog.plan.aggregates.sql_folds import SQL_FOLDS
from duolog.plan.aggregates.statistics import STATISTICS
from duolog.plan.aggregates.user_folds import OF_USER, UserAggregate, user_fold
from duolog.plan.errors import InvalidPlan, TypeMismatch, unknown_name
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Call,
    Cast,
    Expression,
    Named,
    Scope,
    TableColumnRef,
    literal,
    rewrite,
    type_of,
)
from duolog.plan.expressions.functions import common_type, decimal_of
from duolog.plan.types import (
    BIGINT,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    NULL,
    Column,
    Decimal,
    Type,
    numeric,
)

_OTHERS: Final = COLLECTING | STATISTICS
AGGREGATES: Final = ("count", "sum", "min", "max", "avg", *_OTHERS)
_SUM_DIGITS: Final = 10  # room for 10**10 DECIMALs in a sum, as in Spark


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregation in its normal form: accumulators, and results computed from them."""

    accumulators: tuple[Accumulator, ...]
    results: tuple[Named, ...]


def fold(results: tuple[Named, ...], scope: Scope, *, undo: bool) -> Fold:
    """Return the fold that computes `results` over records in `scope`.

    Args:
        results: names with expressions over aggregates, such as `sum(x) / count(*)`.
        scope: the columns of the records.
        undo: rows are also subtracted, because a table is aggregated.

    Raises:
        StatementError: a function is unknown, an argument has a wrong type, or `undo` is set and a
            function cannot subtract.
    """
    builder = _FoldBuilder(scope, undo=undo)
    over_accumulators = tuple((name, rewrite(of, builder.replace)) for name, of in results)
    return Fold(tuple(builder.kept.by_name.values()), over_accumulators)


def custom_fold(
    initial: dict[str, Expression],
    add: dict[str, Expression],
    subtract: dict[str, Expression] | None,
    scope: Scope,
    merge: dict[str, Expression] | None = None,
) -> Fold:
    """Return the fold with the accumulators that a user declared, which are also its results.

    The type of an accumulator is the common type of its initial value and its steps. If a sum,
    product or quotient of DECIMALs in a step does not fit, the record fails, as in `sum`; the
    result is not null.

    Raises:
        StatementError: the steps have different names, or their types do not fit.
    """
    given_steps = (
        ("adder", add),
        ("subtractor", subtract or initial),
        ("merger", merge or initial),
    )
    for step, given in given_steps:
        if given.keys() != initial.keys():
            raise InvalidPlan(
                f"the {step} does not set every accumulator",
                detail=f"The initializer has {_names(initial)}, the {step} {_names(given)}.",
            )
    types = {name: type_of(expression, Scope(())) for name, expression in initial.items()}
    # The type of a step can depend on the accumulators' types: the second round uses the wider
    # ones.
    for _ in range(2):
        seen = _seeing(scope, types)
        steps = [_exactly(add, seen)] + ([] if subtract is None else [_exactly(subtract, seen)])
        types = {
            name: common_type(
                (types[name], *(type_of(step[name], seen) for step in steps)),
                f"accumulator {name}",
            )
            for name in initial
        }
    seen = _seeing(scope, types)
    adder = _exactly(add, seen)
    subtractor = None if subtract is None else _exactly(subtract, seen)
    of_two = Scope((), seen.accumulators, seen.accumulators)
    accumulators = tuple(
        Accumulator(
            name,
            of,
            _as(of, initial[name], Scope(())),
            _as(of, adder[name], seen),
            None if subtractor is None else _as(of, subtractor[name], seen),
            None if merge is None else _as(of, merge[name], of_two),
        )
        for name, of in types.items()
    )
    return Fold(accumulators, tuple((name, AccumulatorRef(name)) for name in types))


class _FoldBuilder:
    def __init__(self, scope: Scope, *, undo: bool) -> None:
        self.kept = Accumulators(scope, undo=undo)

    def replace(self, part: Expression) -> Expression | None:
        match part:
            case Aggregate(_, _, _, ((name, UserAggregate() as of_user),)) if name == OF_USER:
                return user_fold(self.kept, part, of_user)
            case Aggregate(function) if function in SQL_FOLDS:
                return SQL_FOLDS[function](self.kept, part)
            case Aggregate():
                return self._result(part)
            case _:
                return None

    def _result(self, aggregate: Aggregate) -> Expression:
        match aggregate:
            case Aggregate("count", None):
                return self.kept.count_rows()
            case Aggregate(function, None) if function in AGGREGATES:
                raise TypeMismatch(
                    f"{function}(*) does not exist", hint=f"Name what to {function}."
                )
            case Aggregate("count", Expression() as arg):
                self.kept.type_of(arg)
                return self.kept.count(arg)
            case Aggregate("sum", Expression() as arg):
                return self._sum(arg)
            case Aggregate("avg", Expression() as arg):
                total, many = self._sum(arg), self.kept.count(arg)
                return call("/", Cast(total, DOUBLE), Cast(many, DOUBLE))
            case Aggregate("min" | "max", Expression() as arg):
                return extreme(self.kept, str(aggregate), arg, greatest=aggregate.function == "max")
            case Aggregate(function) if function in _OTHERS:
                return _OTHERS[function](self.kept, aggregate)
            case _:
                raise unknown_name("aggregate function", aggregate.function, AGGREGATES)

    def _sum(self, arg: Expression) -> Expression:
        name, of = f"sum({arg})", _sum_type(self.kept.type_of(arg), arg)
        if not self.kept.undo:
            before, other = AccumulatorRef(name), TableColumnRef(name)
            add = call("COALESCE", added(before, arg, of), before, Cast(arg, of))
            merge = call("COALESCE", added(before, other, of), before, other)
            return self.kept.keep(name, of, null_of(of), add=add, merge=merge)
        zero = Cast(literal(0), of)
        part = call("COALESCE", Cast(arg, of), zero)
        total = self.kept.keep_sum(name, of, zero, add=part, subtract=part)
        empty = call("=", self.kept.count(arg), literal(0))
        return call("IF", empty, null_of(of), total)


def _sum_type(of: Type, arg: Expression) -> Type:
    if isinstance(of, Decimal):
        return Decimal(min(of.precision + _SUM_DIGITS, 38), of.scale)
    if of in {INT, BIGINT, NULL}:
        return BIGINT
    if not numeric(of):
        raise TypeMismatch(f"cannot sum {arg}", detail=f"It is a {of}, not a number.")
    return DOUBLE


def _seeing(scope: Scope, types: dict[str, Type]) -> Scope:
    return Scope(scope.columns, accumulators=tuple(starmap(Column, types.items())))


def _as(of: Type, expression: Expression, scope: Scope) -> Expression:
    given = type_of(expression, scope)
    if given == of:
        return expression
    if isinstance(of, Decimal) and isinstance(given, Decimal):
        # a cast that never results in null
        return call("ADD_EXACT", Cast(literal(0), of), expression)
    cast = Cast(expression, of)
    return call("FITS", cast, expression) if isinstance(of, Decimal) and given != NULL else cast


def _exactly(step: dict[str, Expression], scope: Scope) -> dict[str, Expression]:
    """Return `step` with DECIMAL arithmetic that fails, instead of returning null, on overflow.

    `+` and `-` lose no digits either. Division by zero is null, as in all expressions.
    """

    def change(part: Expression) -> Expression | None:
        match part:
            case Call("*" | "/" as sign, (left, right)):
                left, right = rewrite(left, change), rewrite(right, change)
                found = Call(sign, (left, right))
                if not isinstance(type_of(found, scope), Decimal):
                    return found
                by_zero = call("=", right, literal(0))
                divisor = call("IF", by_zero, literal(None), right) if sign == "/" else right
                return call("FITS", found, left, divisor)
            case Call("+" | "-" as sign, (left, right)):
                left, right = rewrite(left, change), rewrite(right, change)
                of = common_type((type_of(left, scope), type_of(right, scope)), sign)
                if not isinstance(of, Decimal):
                    return Call(sign, (left, right))
                left, right = _decimal(left, of, scope), _decimal(right, of, scope)
                return _sum_exactly(sign, left, right, of)
        return None

    return {name: rewrite(expression, change) for name, expression in step.items()}


def _sum_exactly(sign: str, left: Expression, right: Expression, of: Decimal) -> Expression:
    wide = Decimal(min(of.precision + 1, DECIMAL_PRECISION_MAX), of.scale)
    widened = call("ADD_EXACT", Cast(literal(0), wide), left)
    return call("ADD_EXACT", widened, right if sign == "+" else call("-", right))


def _decimal(side: Expression, of: Decimal, scope: Scope) -> Expression:
    given = type_of(side, scope)
    if isinstance(given, Decimal):
        return side
    return Cast(side, of if given == NULL else decimal_of(given))


def _names(columns: dict[str, Expression]) -> str:
    return ", ".join(columns) or "none"

"""Aggregate functions with approximate results: counts of different values, percentiles."""

from typing import Final

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.aggregates.all_values import NO_LIMIT
from duolog.plan.aggregates.arguments import argument, ensure_ordered
from duolog.plan.errors import TypeMismatch
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Cast,
    Expression,
    TableColumnRef,
    literal,
)
from duolog.plan.types import BYTES, DOUBLE, numeric

_NO_PAGES: Final = literal(0)


def approx_count_distinct(kept: Accumulators, aggregate: Aggregate) -> Expression:
    kept.refuse_undo(
        aggregate,
        "A sketch does not count its values, so it cannot subtract one.",
        "Count exactly: count_distinct(...).",
    )
    arg = argument(aggregate)
    ensure_ordered(kept.type_of(arg, function=aggregate.function), aggregate)
    return distinct_nearly(kept, str(aggregate), arg)


def distinct_nearly(kept: Accumulators, name: str, arg: Expression) -> Expression:
    """Store a sketch, and return the approximate number of different values; for streams only."""
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("SKETCH_ADD", before, arg),
        merge=call("SKETCH_MERGE", before, TableColumnRef(name)),
    )
    return call("SKETCH_DISTINCT", before)


def percentile(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = argument(aggregate)
    of = kept.type_of(arg, function=aggregate.function)
    if not numeric(of):
        raise TypeMismatch(f"{aggregate} needs numbers", detail=f"{arg} is a {of}.")
    bucket = call("BUCKET", Cast(arg, DOUBLE))
    name = f"values({bucket})"
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD", before, bucket, _NO_PAGES),
        subtract=call("VALUES_SUBTRACT", before, bucket),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), NO_LIMIT),
    )
    fractions = dict(aggregate.options)["at"]
    if isinstance(fractions, tuple):
        found = [call("QUANTILE", before, literal(float(one))) for one in fractions]
        return call("ARRAY", *found)
    assert isinstance(fractions, float), fractions
    return call("QUANTILE", before, literal(fractions))

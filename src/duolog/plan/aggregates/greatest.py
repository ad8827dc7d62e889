"""Aggregate functions that store the least or greatest values: min, max, top_k."""

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.aggregates.all_values import ANY, DISTINCT, Reading, read_of_all
from duolog.plan.aggregates.arguments import argument, ensure_ordered, option, own_name, unless_null
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Cast,
    Expression,
    Item,
    TableColumnRef,
    literal,
    type_of,
)
from duolog.plan.types import BYTES, Column, Struct


def extreme(kept: Accumulators, name: str, arg: Expression, *, greatest: bool) -> AccumulatorRef:
    """Store the least or the greatest value; if rows are subtracted, next to all values.

    Raises:
        StatementError: values of this type cannot be compared.
    """
    choose = "GREATEST" if greatest else "LEAST"
    of = kept.type_of(arg)
    type_of(call(choose, arg, arg), kept.scope)
    if kept.undo:
        read = "VALUES_GREATEST" if greatest else "VALUES_LEAST"
        return read_of_all(
            kept, name, arg, Reading(read, part=lambda found: Item(found, literal(0)))
        )
    before = AccumulatorRef(name)
    add, merge = (call(choose, before, new) for new in (arg, TableColumnRef(name)))
    return kept.keep(name, of, null_of(of), add=add, merge=merge)


def top(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = argument(aggregate)
    many = option(aggregate, "k")
    for one in (arg, *aggregate.others):
        ensure_ordered(kept.type_of(one, function=aggregate.function), aggregate)
    distinct = aggregate.function == "top_k_distinct"
    value = arg
    if aggregate.others:
        values = (arg, *aggregate.others)
        types = [kept.type_of(one, function=aggregate.function) for one in values]
        fields = tuple(map(Column, _field_names(aggregate), types))
        as_struct = call("SORTABLE_AS", Cast(literal(None), Struct(fields)), *values)
        value = unless_null(arg, as_struct)
    return top_of(kept, str(aggregate), value, many, distinct=distinct)


def _field_names(aggregate: Aggregate) -> list[str]:
    """Return the field names of the STRUCT of a top_k with several columns.

    A field has the name that the user gave, else the column's own. Without either it is `sort_col`
    for the first and `col0`, `col1` for the others, as in ksqlDB's TOPK.
    """
    given = dict(aggregate.options).get("names") or (None,) * (1 + len(aggregate.others))
    assert isinstance(given, tuple), given
    names = [
        name or own_name(column) or ("sort_col" if place == 0 else f"col{place - 1}")
        for place, (name, column) in enumerate(
            zip(given, (argument(aggregate), *aggregate.others), strict=True)
        )
    ]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidPlan(
            f'two fields of {aggregate} have the name "{twice}"',
            hint='Rename one: col("price").alias("euro").',
        )
    return names


def top_of(
    kept: Accumulators, name: str, value: Expression, many: Expression, *, distinct: bool
) -> Expression:
    """Store the `many` greatest values; if rows are subtracted, all of them."""
    if kept.undo:
        return read_of_all(kept, name, value, Reading("VALUES_GREATEST", many, distinct=distinct))
    flag, before = DISTINCT if distinct else ANY, AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD_TOP", before, value, many, flag),
        merge=call("VALUES_MERGE_TOP", before, TableColumnRef(name), many, flag),
    )
    of = type_of(value, kept.scope)
    return call("VALUES_GREATEST", before, null_of(of), many, flag)

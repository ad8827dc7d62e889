"""Aggregate functions that store the first or last values, by offset or by time."""

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.aggregates.all_values import NO_LIMIT, Reading, read_of_all
from duolog.plan.aggregates.arguments import argument, empty, unless_null
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Expression,
    Item,
    RowTime,
    TableColumnRef,
    literal,
)
from duolog.plan.types import BIGINT, Array, Type


def first_or_last(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, options = argument(aggregate), dict(aggregate.options)
    of = kept.type_of(arg, function=aggregate.function)
    if kept.undo and options["by"] == "offset":
        kept.refuse_undo(
            aggregate,
            "Rows of a table change and can be deleted, so no row stays the first one.",
            'Use the row that changed first or last: by="time".',
        )
    if kept.undo:
        pair = unless_null(arg, call("SORTABLE", RowTime(), arg), options["nulls"])
        read = "VALUES_LEAST" if aggregate.function == "first" else "VALUES_GREATEST"
        return read_of_all(kept, str(aggregate), pair, Reading(read, part=_value_of_first))
    first, nulls, many = aggregate.function == "first", bool(options["nulls"]), options["n"]
    if many is not None:
        assert isinstance(many, int), many
        return some_by_offset(kept, str(aggregate), arg, many, first=first, nulls=nulls)
    if options["by"] == "time":
        return _by_time(kept, aggregate, arg, of)
    return one_by_offset(kept, str(aggregate), arg, first=first, nulls=nulls)


def _value_of_first(pairs: Expression) -> Expression:
    return Item(Item(pairs, literal(0)), literal("col0"))


def one_by_offset(
    kept: Accumulators, name: str, arg: Expression, *, first: bool, nulls: bool
) -> AccumulatorRef:
    """Store the first or last value by offset; with `nulls`, null counts as a value."""
    before, other = AccumulatorRef(name), TableColumnRef(name)
    of, is_first = kept.type_of(arg), first
    add: Expression
    if not nulls:
        add = call("COALESCE", before, arg) if is_first else call("COALESCE", arg, before)
        merge = call("COALESCE", *((before, other) if is_first else (other, before)))
    else:
        rows = kept.count_rows()
        none_here = call("=", rows, literal(0))
        none_there = call("=", TableColumnRef(rows.name), literal(0))
        add = call("IF", none_here, arg, before) if is_first else arg
        merge = (
            call("IF", none_here, other, before)
            if is_first
            else call("IF", none_there, before, other)
        )
    return kept.keep(name, of, null_of(of), add=add, merge=merge)


def _by_time(kept: Accumulators, aggregate: Aggregate, arg: Expression, of: Type) -> AccumulatorRef:
    name = str(aggregate)
    time_name = f"time of {name}"
    time, other_time = AccumulatorRef(time_name), TableColumnRef(time_name)
    sign = "<" if aggregate.function == "first" else ">="
    nulls = dict(aggregate.options)["nulls"]

    def comes(at: Expression, *more: Expression) -> Expression:
        sooner = call("OR", call("IS_NULL", time), call(sign, at, time))
        return call("AND", sooner, *more) if more else sooner

    taken = comes(RowTime(), *([] if nulls else [call("IS_NOT_NULL", arg)]))
    merged = comes(other_time, call("IS_NOT_NULL", other_time))
    kept.keep(
        time_name,
        BIGINT,
        null_of(BIGINT),
        add=call("IF", taken, RowTime(), time),
        merge=call("IF", merged, other_time, time),
    )
    before = AccumulatorRef(name)
    add, merge = call("IF", taken, arg, before), call("IF", merged, TableColumnRef(name), before)
    return kept.keep(name, of, null_of(of), add=add, merge=merge)


def some_by_offset(
    kept: Accumulators, name: str, arg: Expression, many: int, *, first: bool, nulls: bool
) -> AccumulatorRef:
    """Store the first or last values by offset, as a list of at most `many`."""
    of = kept.type_of(arg)
    before, other = AccumulatorRef(name), TableColumnRef(name)
    if first:
        longer = call("LIST_ADD", before, arg, literal(many))
        merge = call("LIST_CONCAT", before, other, literal(many))
    else:
        longer = call("LIST_LAST", call("LIST_ADD", before, arg, NO_LIMIT), literal(many))
        merge = call("LIST_LAST", call("LIST_CONCAT", before, other, NO_LIMIT), literal(many))
    add = longer if nulls else call("IF", call("IS_NULL", arg), before, longer)
    return kept.keep(name, Array(of), empty(Array(of)), add=add, merge=merge)

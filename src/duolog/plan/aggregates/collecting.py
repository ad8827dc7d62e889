"""Aggregate functions that store values: first, min, lists, sets, sketches.

    function                state over a stream       state over a table (rows are also subtracted)
    min, max                the value                 all values, and the value
    first, last             the value (and its time)  all values by time, and the value
    collect_list            a list                    the same; the last equal element is removed
    collect_set, _map       a list, a map             all values, and the list or map
    top_k, top_k_distinct   the k greatest            all values, and the k greatest
    count_distinct          all values                all values
    histogram               values with their counts  all values, and the counts
    percentile              counts of buckets         the same
    approx_count_distinct   a sketch                  refused: a sketch cannot subtract

"All values" is a sorted list of the different values with their counts. If it outgrows the row, the
rest is stored in pages (except in windows). The result is stored next to it, so that only the fold
reads pages.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Cast,
    ColumnRef,
    Expression,
    Item,
    Literal,
    RowTime,
    Scope,
    TableColumnRef,
    literal,
    type_of,
)
from duolog.plan.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    Array,
    Column,
    Map,
    Struct,
    Type,
    map_in,
    numeric,
)

_NO_LIMIT: Final = literal(2**31 - 1)
_NO_PAGES: Final = literal(0)
_ONE: Final = literal(1)
_ANY: Final = literal(value=False)
_DISTINCT: Final = literal(value=True)


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
        return read_of_all(kept, name, arg, lambda found: Item(found, literal(0)), read)
    before = AccumulatorRef(name)
    add, merge = (call(choose, before, new) for new in (arg, TableColumnRef(name)))
    return kept.keep(name, of, null_of(of), add=add, merge=merge)


def _first_or_last(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, options = _arg(aggregate), dict(aggregate.options)
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
        value = literal("col0")
        return read_of_all(
            kept, str(aggregate), pair, lambda found: Item(Item(found, literal(0)), value), read
        )
    first, nulls, many = aggregate.function == "first", bool(options["nulls"]), options["n"]
    if many is not None:
        assert isinstance(many, int), many
        return some_by_offset(kept, str(aggregate), arg, many, first=first, nulls=nulls)
    if options["by"] == "time":
        return _by_time(kept, aggregate, arg, of)
    return one_by_offset(kept, str(aggregate), arg, first=first, nulls=nulls)


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
        longer = call("LIST_LAST", call("LIST_ADD", before, arg, _NO_LIMIT), literal(many))
        merge = call("LIST_LAST", call("LIST_CONCAT", before, other, _NO_LIMIT), literal(many))
    add = longer if nulls else call("IF", call("IS_NULL", arg), before, longer)
    return kept.keep(name, Array(of), _empty(Array(of)), add=add, merge=merge)


def _collect_list(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, nulls = _arg(aggregate), bool(dict(aggregate.options)["nulls"])
    of = kept.type_of(arg, function=aggregate.function)
    if kept.undo:
        _ensure_ordered(of, aggregate)
    return list_of(kept, str(aggregate), arg, _limit(aggregate), nulls=nulls)


def list_of(
    kept: Accumulators, name: str, arg: Expression, limit: Expression, *, nulls: bool
) -> AccumulatorRef:
    """Store a list of the values in arrival order; subtracting removes the last equal one."""
    of, before = kept.type_of(arg), AccumulatorRef(name)
    longer = call("LIST_ADD", before, arg, limit)
    return kept.keep(
        name,
        Array(of),
        _empty(Array(of)),
        add=longer if nulls else call("IF", call("IS_NULL", arg), before, longer),
        subtract=call("LIST_REMOVE", before, arg),
        merge=call("LIST_CONCAT", before, TableColumnRef(name), limit),
    )


def _collect_set(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, name, limit = _arg(aggregate), str(aggregate), _limit(aggregate)
    of = kept.type_of(arg, function=aggregate.function)
    _ensure_ordered(of, aggregate)
    nulls = dict(aggregate.options)["nulls"]
    if kept.undo and nulls:
        raise InvalidPlan(
            f"cannot compute {aggregate} over a grouped table",
            detail="A set over a table cannot contain null.",
            hint="Remove nulls=True, or aggregate the table's changes: to_stream().",
        )
    if kept.undo:
        return read_of_all(kept, name, arg, _as_it_is, "VALUES_LEAST", limit=limit, distinct=True)
    return set_of(kept, name, arg, limit, nulls=bool(nulls))


def set_of(
    kept: Accumulators, name: str, arg: Expression, limit: Expression, *, nulls: bool
) -> AccumulatorRef:
    """Store a list of the different values in arrival order; for streams only."""
    of, before = kept.type_of(arg), AccumulatorRef(name)
    larger = call("SET_ADD", before, arg, limit)
    return kept.keep(
        name,
        Array(of),
        _empty(Array(of)),
        add=larger if nulls else call("IF", call("IS_NULL", arg), before, larger),
        merge=call("SET_CONCAT", before, TableColumnRef(name), limit),
    )


def _collect_map(kept: Accumulators, aggregate: Aggregate) -> Expression:
    key, (value,) = _arg(aggregate), aggregate.others
    name, limit = str(aggregate), _limit(aggregate)
    of_key, of_value = (kept.type_of(of, function=aggregate.function) for of in (key, value))
    _ensure_ordered(of_key, aggregate)
    of = Map(of_key, of_value)
    if kept.undo:
        _ensure_ordered(of_value, aggregate)
        pair = unless_null(key, call("SORTABLE", key, value))
        return read_of_all(kept, str(aggregate), pair, _as_it_is, "VALUES_PAIRS", limit=limit)
    before = AccumulatorRef(name)
    return kept.keep(
        name,
        of,
        _empty(of),
        add=call("MAP_PUT", before, key, value, limit),
        merge=call("MAP_CONCAT", before, TableColumnRef(name), limit),
    )


def _histogram(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, limit = _arg(aggregate), _limit(aggregate)
    of = kept.type_of(arg, function=aggregate.function)
    _ensure_ordered(of, aggregate)
    if kept.undo:
        return read_of_all(kept, str(aggregate), arg, _as_it_is, "VALUES_COUNTS", limit=limit)
    name = str(aggregate)
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD_WITHIN", before, arg, limit),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), limit),
    )
    return call("VALUES_COUNTS", before, null_of(of), limit)


def _top(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = _arg(aggregate)
    many = literal(dict(aggregate.options)["k"])  # type: ignore[arg-type]
    for one in (arg, *aggregate.others):
        _ensure_ordered(kept.type_of(one, function=aggregate.function), aggregate)
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
            zip(given, (_arg(aggregate), *aggregate.others), strict=True)
        )
    ]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidPlan(
            f'two fields of {aggregate} have the name "{twice}"',
            hint='Rename one: col("price").alias("euro").',
        )
    return names


def own_name(column: Expression) -> str | None:
    """Return the name of a column, of a field, or of the timestamp; None for other expressions."""
    match column:
        case ColumnRef(name):
            return name
        case Item(_, Literal(str() as name)):
            return name
        case RowTime():
            return "rowtime"
        case _:
            return None


def top_of(
    kept: Accumulators, name: str, value: Expression, many: Expression, *, distinct: bool
) -> Expression:
    """Store the `many` greatest values; if rows are subtracted, all of them."""
    if kept.undo:
        return read_of_all(
            kept, name, value, _as_it_is, "VALUES_GREATEST", limit=many, distinct=distinct
        )
    flag, before = _DISTINCT if distinct else _ANY, AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD_TOP", before, value, many, flag),
        merge=call("VALUES_MERGE_TOP", before, TableColumnRef(name), many, flag),
    )
    of = type_of(value, kept.scope)
    return call("VALUES_GREATEST", before, null_of(of), many, flag)


def _count_distinct(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = _arg(aggregate)
    _ensure_ordered(kept.type_of(arg, function=aggregate.function), aggregate)
    return distinct_of_all(kept, arg)


def distinct_of_all(kept: Accumulators, arg: Expression) -> Expression:
    """Store all values, and return the number of different ones."""
    return call("VALUES_DISTINCT", AccumulatorRef(_all_values(kept, arg)))


def _approx_count_distinct(kept: Accumulators, aggregate: Aggregate) -> Expression:
    kept.refuse_undo(
        aggregate,
        "A sketch does not count its values, so it cannot subtract one.",
        "Count exactly: count_distinct(...).",
    )
    arg = _arg(aggregate)
    _ensure_ordered(kept.type_of(arg, function=aggregate.function), aggregate)
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


def _percentile(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = _arg(aggregate)
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
        merge=call("VALUES_MERGE", before, TableColumnRef(name), _NO_LIMIT),
    )
    fractions = dict(aggregate.options)["at"]
    if isinstance(fractions, tuple):
        found = [call("QUANTILE", before, literal(float(one))) for one in fractions]
        return call("ARRAY", *found)
    assert isinstance(fractions, float), fractions
    return call("QUANTILE", before, literal(fractions))


def read_of_all(
    kept: Accumulators,
    name: str,
    value: Expression,
    of_found: Callable[[Expression], Expression],
    read: str,
    *,
    limit: Expression = _ONE,
    distinct: bool = False,
) -> AccumulatorRef:
    """Store all values, and next to them `of_found` applied to the result of `read` over them."""
    of_value = type_of(value, kept.scope)
    like = null_of(of_value)
    flags = [_DISTINCT if distinct else _ANY] if read in {"VALUES_LEAST", "VALUES_GREATEST"} else []
    values = kept.by_name[_all_values(kept, value)]

    def found(values_now: Expression) -> Expression:
        return of_found(call(read, values_now, like, limit, *flags))

    of = type_of(found(null_of(BYTES)), Scope(()))
    merge = found(values.merge or values.add)
    return kept.keep(
        name,
        of,
        null_of(of),
        add=found(values.add),
        subtract=None if values.subtract is None else found(values.subtract),
        merge=merge,
    )


def _all_values(kept: Accumulators, value: Expression) -> str:
    """Store all values with their counts; return the accumulator's name."""
    name = f"values({value})"
    if name in kept.by_name:
        return name
    slot = 1 + sum(one.paged for one in kept.by_name.values())
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD", before, value, literal(slot)),
        subtract=call("VALUES_SUBTRACT", before, value),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), _NO_LIMIT),
    )
    kept.by_name[name] = replace(kept.by_name[name], paged=True)
    return name


def _arg(aggregate: Aggregate) -> Expression:
    if aggregate.arg is None:
        raise TypeMismatch(
            f"{aggregate} does not exist", hint=f"Name what to {aggregate.function}."
        )
    return aggregate.arg


def _limit(aggregate: Aggregate) -> Expression:
    return literal(dict(aggregate.options)["limit"])  # type: ignore[arg-type]


def unless_null(arg: Expression, value: Expression, nulls: object = None) -> Expression:
    """Return `value` if `arg` is not null; with `nulls` always."""
    return value if nulls else call("CASE", call("IS_NOT_NULL", arg), value)


def _empty(of: Type) -> Expression:
    return call("EMPTY", null_of(of))


def _as_it_is(found: Expression) -> Expression:
    return found


def _ensure_ordered(of: Type, aggregate: Aggregate) -> None:
    if map_in(of):
        raise TypeMismatch(
            f"cannot compute {aggregate}",
            detail=f"It compares values, but values of {of} cannot be compared.",
        )


COLLECTING: Final[dict[str, Callable[[Accumulators, Aggregate], Expression]]] = {
    "first": _first_or_last,
    "last": _first_or_last,
    "collect_list": _collect_list,
    "collect_set": _collect_set,
    "collect_map": _collect_map,
    "histogram": _histogram,
    "top_k": _top,
    "top_k_distinct": _top,
    "count_distinct": _count_distinct,
    "approx_count_distinct": _approx_count_distinct,
    "percentile": _percentile,
}
"""The folds by function name."""

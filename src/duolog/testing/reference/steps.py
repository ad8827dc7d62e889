"""The steps of aggregates (`plan.expressions.steps`) on plain Python values.

Values with their counts are a dict by sort key; a sketch is a frozenset, and therefore exact.
Nothing is changed in place, because an accumulator may be read again.
"""

import math
from collections.abc import Sequence
from typing import Final

from duolog.plan.types import Map, Struct, Type
from duolog.testing.reference.casts import BITS, wrap
from duolog.testing.reference.scalars import Scalar, Value, order_key

_Values = dict[Value, tuple[Value, int]]
_FACTOR: Final = 1.01 / 0.99
_MIDDLE: Final = 40_000
_NAN: Final = 2**31 - 1


def _frozen(value: Value) -> Value:
    """Return the sort key of a value, as a dict key."""

    def freeze(part: object) -> object:
        return tuple(map(freeze, part)) if isinstance(part, list | tuple) else part

    return freeze(order_key(value))


def _plain(value: Value) -> Value:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _empty(_args: Sequence[Value], of: Type) -> Value:
    return {} if isinstance(of, Map) else []


def _list_add(args: Sequence[Value], _of: Type) -> Value:
    kept, value, limit = args
    return kept if len(kept) >= limit else [*kept, value]


def _list_remove(args: Sequence[Value], _of: Type) -> Value:
    kept, value = args
    same = [place for place, one in enumerate(kept) if _same(one, value)]
    return [*kept[: same[-1]], *kept[same[-1] + 1 :]] if same else kept


def _same(one: Value, other: Value) -> bool:
    return bool(_identity(one) == _identity(other))


def _identity(value: Value) -> object:
    """Return an object that is equal for equal values; for maps, in any order of keys."""
    match value:
        case list():
            return [_identity(item) for item in value]
        case dict():
            return {key: _identity(item) for key, item in value.items()}
        case None:
            return None
        case _:
            return (order_key(value),)


def _list_concat(args: Sequence[Value], _of: Type) -> Value:
    return [*args[0], *args[1]][: args[2]]


def _list_sum(args: Sequence[Value], of: Type) -> Value:
    if args[0] is None:
        return None
    total = sum(one for one in args[0] if one is not None)
    return wrap(total, of) if of in BITS else float(total)


def _set_add(args: Sequence[Value], of: Type) -> Value:
    return args[0] if any(_same(one, args[1]) for one in args[0]) else _list_add(args, of)


def _set_concat(args: Sequence[Value], of: Type) -> Value:
    kept, other, limit = args
    for value in other:
        kept = _set_add((kept, value, limit), of)
    return kept


def _map_put(args: Sequence[Value], _of: Type) -> Value:
    kept, key, value, limit = args
    if key is None:
        return kept
    others = {one: of for one, of in kept.items() if not _same(one, key)}
    is_new = len(others) == len(kept)
    return kept if is_new and len(kept) >= limit else {**others, key: value}


def _map_concat(args: Sequence[Value], of: Type) -> Value:
    kept, other, limit = args
    for key, value in other.items():
        kept = _map_put((kept, key, value, limit), of)
    return kept


def _sortable(args: Sequence[Value], _of: Type) -> Value:
    names = ("sort_col", *(f"col{place}" for place in range(len(args) - 1)))
    return dict(zip(names, args, strict=True))


def _sortable_as(args: Sequence[Value], of: Type) -> Value:
    assert isinstance(of, Struct), of
    return dict(zip((name for name, _ in of.fields), args[1:], strict=True))


def _counted(kept: _Values | None, value: Value, by: int) -> _Values | None:
    """Return values with the count of one changed; the count of a missing value is not reduced."""
    if value is None:
        return kept
    found = dict(kept or {})
    key = _frozen(value)
    count = found.pop(key, (value, 0))[1] + by
    if count > 0:
        found[key] = (_plain(value), count)
    return found or None


def _ascending(kept: _Values | None) -> list[tuple[Value, int]]:
    return [counted for _, counted in sorted((kept or {}).items())]


def _values_add_within(args: Sequence[Value], _of: Type) -> Value:
    kept, value, limit = args
    is_new = value is not None and _frozen(value) not in (kept or {})
    return kept if is_new and len(kept or {}) >= limit else _counted(kept, value, 1)


def _values_merge(args: Sequence[Value], _of: Type) -> Value:
    kept, other, limit = args
    found = dict(kept or {})
    for key, (value, count) in sorted((other or {}).items()):
        if key in found or len(found) < limit:
            found[key] = (value, found.get(key, (value, 0))[1] + count)
    return found or None


def _top(kept: _Values | None, many: int, distinct: Value) -> Value:
    found, left = _Values(), many
    for value, count in reversed(_ascending(kept)):
        taken = count if distinct else min(left, count)
        if left > 0:
            found[_frozen(value)] = (value, taken)
        left -= 1 if distinct else taken
    return found or None


def _values_add_top(args: Sequence[Value], _of: Type) -> Value:
    kept, value, many, distinct = args
    there = value is not None and _frozen(value) in (kept or {})
    return _top(kept if distinct and there else _counted(kept, value, 1), many, distinct)


def _values_merge_top(args: Sequence[Value], of: Type) -> Value:
    kept, other, many, distinct = args
    both = _values_merge((kept, other, math.inf), of)
    return _top(both, many, distinct)


def _first(*, greatest: bool) -> Scalar:
    def compute(args: Sequence[Value], _of: Type) -> Value:
        kept, _, many, distinct = args
        ordered = _ascending(kept)
        found = []
        for value, count in reversed(ordered) if greatest else ordered:
            found.extend([value] * (1 if distinct else min(count, many)))
        return found[:many]

    return compute


def _values_counts(args: Sequence[Value], _of: Type) -> Value:
    kept, _, limit = args
    return dict(_ascending(kept)[:limit])


def _values_pairs(args: Sequence[Value], _of: Type) -> Value:
    kept, _, limit = args
    pairs = {pair["sort_col"]: pair["col0"] for pair, _ in _ascending(kept)}
    return dict(list(pairs.items())[:limit])


def _sketch_add(args: Sequence[Value], _of: Type) -> Value:
    kept, value = args
    return kept if value is None else (kept or frozenset()) | {_frozen(value)}


def _sketch_merge(args: Sequence[Value], _of: Type) -> Value:
    return (args[0] or frozenset()) | (args[1] or frozenset()) or None


def _bucket(args: Sequence[Value], _of: Type) -> Value:
    value = args[0]
    if value is None:
        return None
    if value == 0:
        return 0
    if math.isnan(value):
        return _NAN
    if math.isinf(value):
        size = 2 * _MIDDLE
    else:
        size = _MIDDLE + math.ceil(math.log(abs(value)) / math.log(_FACTOR))
    return size if value > 0 else -size


def _quantile(args: Sequence[Value], _of: Type) -> Value:
    ordered = [bucket for bucket, count in _ascending(args[0]) for _ in range(count)]
    if not ordered:
        return None
    bucket = ordered[math.floor(args[1] * (len(ordered) - 1))]
    size = abs(bucket)
    if bucket == _NAN:
        return math.nan
    if bucket == 0:
        return 0.0
    found = math.inf
    if size != 2 * _MIDDLE:
        found = 2 * math.exp((size - _MIDDLE) * math.log(_FACTOR)) / (_FACTOR + 1)
    return math.copysign(found, bucket)


def _sqrt(args: Sequence[Value], _of: Type) -> Value:
    value = args[0]
    return None if value is None else math.sqrt(value) if value >= 0 else math.nan


STEPS: Final[dict[str, Scalar]] = {
    "EMPTY": _empty,
    "LIST_ADD": _list_add,
    "LIST_REMOVE": _list_remove,
    "LIST_CONCAT": _list_concat,
    "LIST_LAST": lambda args, _of: args[0][-args[1] :],
    "LIST_SUM": _list_sum,
    "SET_ADD": _set_add,
    "SET_CONCAT": _set_concat,
    "MAP_PUT": _map_put,
    "MAP_CONCAT": _map_concat,
    "SORTABLE": _sortable,
    "SORTABLE_AS": _sortable_as,
    "VALUES_ADD": lambda args, _of: _counted(args[0], args[1], 1),
    "VALUES_SUBTRACT": lambda args, _of: _counted(args[0], args[1], -1),
    "VALUES_MERGE": _values_merge,
    "VALUES_ADD_WITHIN": _values_add_within,
    "VALUES_ADD_TOP": _values_add_top,
    "VALUES_MERGE_TOP": _values_merge_top,
    "VALUES_LEAST": _first(greatest=False),
    "VALUES_GREATEST": _first(greatest=True),
    "VALUES_DISTINCT": lambda args, _of: len(args[0] or {}),
    "VALUES_COUNTS": _values_counts,
    "VALUES_PAIRS": _values_pairs,
    "SKETCH_ADD": _sketch_add,
    "SKETCH_MERGE": _sketch_merge,
    "SKETCH_DISTINCT": lambda args, _of: len(args[0] or ()),
    "BUCKET": _bucket,
    "QUANTILE": _quantile,
    "SQRT": _sqrt,
}
"""The steps by name; they handle nulls themselves."""

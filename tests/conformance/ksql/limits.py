"""Calls at the limits of ADR 0091 and above them, with their values in both engines."""

from typing import Final

_LONG: Final = 16 * 1024 * 1024
_MANY: Final = 1024 * 1024


def _text(length: int) -> str:
    return f"LPAD('a', {length}, 'a')"


def _bytes(length: int) -> str:
    return f"LPAD(TO_BYTES('a', 'utf8'), {length}, TO_BYTES('a', 'utf8'))"


def _map_of(entries: int) -> str:
    """Return a map with this number of entries."""
    keys = f"TRANSFORM(GENERATE_SERIES(1, {entries}), x => CAST(x AS STRING))"
    return f"AS_MAP({keys}, GENERATE_SERIES(1, {entries}))"


AT_LIMIT: Final[dict[str, object]] = {
    f"LEN({_text(_LONG)})": _LONG,
    f"LEN(RPAD('a', {_LONG}, 'bc'))": _LONG,
    f"LEN({_bytes(_LONG)})": _LONG,
    f"LEN(REPLACE({_text(_MANY)}, 'a', {_text(16)}))": _LONG,
    f"LEN(REPLACE({_text(_MANY)}, '', {_text(14)}))": 15 * _MANY + 14,
    f"LEN(ARRAY_JOIN(ARRAY[{_text(_LONG - 2)}, 'b'], ','))": _LONG,
    f"LEN(REGEXP_REPLACE({_text(4096)}, 'a', {_text(4096)}))": _LONG,
    f"REGEXP_EXTRACT({_text(10_000)}, 'b')": None,
    f"LEN(REGEXP_REPLACE({_text(10_000)}, {_text(10_000)}, 'b'))": 1,
    f"ARRAY_LENGTH(GENERATE_SERIES(1, {_MANY}))": _MANY,
    f"ARRAY_LENGTH(GENERATE_SERIES(0, {3 * (_MANY - 1)}, 3))": _MANY,
    "LEN(REDUCE(GENERATE_SERIES(1, 24), 'a', (s, x) => s + s))": _LONG,
    f"LEN(REDUCE({_map_of(24)}, 'a', (s, k, v) => s + s))": _LONG,
    f"ARRAY_LENGTH(REDUCE({_map_of(20)}, ARRAY[1], (s, k, v) => ARRAY_CONCAT(s, s)))": _MANY,
    f"LEN(REDUCE({_map_of(23)}, ARRAY['a'], (s, k, v) => ARRAY[s[1] + s[1]])[1])": _LONG // 2,
    f"ARRAY_LENGTH(TRANSFORM(GENERATE_SERIES(1, 16), x => {_text(_MANY)}))": 16,
    f"LEN(TRANSFORM(TRANSFORM(ARRAY[1, 2], x => {_text(_LONG // 2)}), y => REPLACE(y, 'a', 'b'))[2])": _LONG
    // 2,
    f"ARRAY_LENGTH(TRANSFORM(GENERATE_SERIES(1, 2), x => GENERATE_SERIES(1, {_MANY})))": 2,
    f"ARRAY_LENGTH(TRANSFORM(GENERATE_SERIES(1, 16), x => STRUCT(a := {_text(_MANY - 16)}, b := x)))": 16,
    "ROUND(1.5E0, 1100)": 1.5,
    "ROUND(1.5E0, 2147483647)": 1.5,
    "TRUNC(1.5E0, 2000)": 1.5,
}
"""Calls that make as much as they may."""
ABOVE_LIMIT: Final = (
    _text(_LONG + 1),
    _text(2**31 - 1),
    f"RPAD('a', {_LONG + 1}, 'bc')",
    _bytes(_LONG + 1),
    f"REPLACE({_text(_MANY)}, 'a', {_text(17)})",
    f"REPLACE({_text(_MANY)}, '', {_text(16)})",
    f"ARRAY_JOIN(ARRAY[{_text(_LONG - 1)}, 'b'], ',')",
    f"REGEXP_REPLACE({_text(4096)}, 'a', {_text(4097)})",
    f"REGEXP_REPLACE(CONCAT('b', {_text(_LONG)}), 'b', 'cc')",
    f"REGEXP_REPLACE({_text(10_001)}, {_text(10_001)}, 'b')",
    f"GENERATE_SERIES(1, {_MANY + 1})",
    f"GENERATE_SERIES({_MANY + 1}, 1, -1)",
    "GENERATE_SERIES(CAST(0 AS BIGINT), 9000000000000000000)",
    "REDUCE(GENERATE_SERIES(1, 25), 'a', (s, x) => s + s)",
    f"TRANSFORM(GENERATE_SERIES(1, 17), x => {_text(_MANY)})",
    f"TRANSFORM(GENERATE_SERIES(1, 17), x => {_bytes(_MANY)})",
    f"TRANSFORM(MAP('a' := 1, 'b' := 2), (k, v) => k, (k, v) => {_text(_LONG)})",
    f"TRANSFORM(MAP('a' := 1, 'b' := 2), (k, v) => CONCAT(k, {_text(_LONG - 1)}), (k, v) => v)",
    "REDUCE(GENERATE_SERIES(1, 25), TO_BYTES('a', 'utf8'), (s, x) => CONCAT(s, s))",
    "REDUCE(GENERATE_SERIES(1, 21), ARRAY[1], (s, x) => ARRAY_CONCAT(s, s))",
    f"REDUCE({_map_of(25)}, 'a', (s, k, v) => s + s)",
    f"REDUCE({_map_of(25)}, TO_BYTES('a', 'utf8'), (s, k, v) => CONCAT(s, s))",
    f"REDUCE({_map_of(21)}, ARRAY[1], (s, k, v) => ARRAY_CONCAT(s, s))",
    f"REDUCE({_map_of(24)}, ARRAY['a'], (s, k, v) => ARRAY[s[1] + s[1]])",
    f"REDUCE({_map_of(24)}, STRUCT(a := 'a'), (s, k, v) => STRUCT(a := s->a + s->a))",
    "REDUCE(GENERATE_SERIES(1, 24), MAP('a' := 'a'), (s, x) => MAP('a' := s['a'] + s['a']))",
    f"TRANSFORM(GENERATE_SERIES(1, 3), x => GENERATE_SERIES(1, {_MANY}))",
    f"TRANSFORM(GENERATE_SERIES(1, 17), x => STRUCT(a := {_text(_MANY)}, b := x))",
    f"TRANSFORM(GENERATE_SERIES(1, 17), x => ARRAY[STRUCT(a := MAP('k' := {_text(_MANY)}))])",
    f"TRANSFORM(MAP('a' := 1, 'b' := 2), (k, v) => k, (k, v) => STRUCT(b := {_bytes(_LONG // 2)}))",
)
"""Calls that would make more, so they are null."""
ENDLESS: Final = f"TRANSFORM(GENERATE_SERIES(1, 1000000), x => {_text(_LONG)})"
"""A call that would make 16 TiB, which a persistent query gives up early."""

"""Rows of odd values, and calls of every function over them.

Each call is computed twice, by a query that writes its results to a topic and by one that answers
rows: the values must be the same, and no row may be missing. The calls are drawn from the
signatures of the functions, so that a new function is tested without a change here.
"""

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Final

from duolog.ksql.syntax.types import sql_name
from duolog.plan.sql.registry import SQL_FUNCTIONS
from duolog.plan.sql.signatures import UNIT, AnyDecimal, Generic, LambdaOf, Parameter, SqlFunction
from duolog.plan.types import Array, Map, Struct, Type, parse_type

COLUMNS: Final[dict[str, str]] = {
    "ID": "INT", "I": "INT", "J": "INT", "L": "BIGINT", "D": "DOUBLE", "E": "DOUBLE", "N": "DECIMAL(6, 2)", "M": "DECIMAL(38, 10)",
    "T": "STRING", "U": "STRING", "B": "BYTES", "DT": "DATE", "TM": "TIME", "TS": "TIMESTAMP", "F": "BOOLEAN", "P": "STRING", "AI": "ARRAY<INT>",
    "AD": "ARRAY<DOUBLE>", "AT": "ARRAY<STRING>", "MI": "MAP<STRING, INT>", "MD": "MAP<STRING, DOUBLE>", "S": "STRUCT<X INT, Y STRING>",
}  # fmt: skip
"""The columns of the stream and their types."""

_INTS: Final = (None, 0, 1, -1, 2, 3, 7, 100, 2**31 - 1, -(2**31))
_DOUBLES: Final = (
    None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.5, 2.5, 27.0, 1e-320, 1e308, -1e308, 1e16, 9.3e18, 0.1, 30.0,
)  # fmt: skip
_TEXTS: Final = (
    None, "", " ", "a", "aXb,c", "no date", "2026-01-02", "2026-02-30", " 23.5", "12", "-7 ", "1e5", "NaN", "12abc", "true", "yes",
    '{"a": 1, "b": "x", "A": [1.50, 2]}', "[1, 2] tail", "[]", '{"a": {"b": null}}', "1 2", '"t" u', "null", "[01]", '{"a":1} {', "tr",
    "https://u@host:80/p?q=1&r=%20#f", "10:15:30", "24:00", "2026-01-02T03:04:05.678", "🙂é", "Ünïcode ß", "a%b_c", "\\", "0x41", "QUI=",
    "9999999999", "9223372036854775808", "+5", "1.50", "\\u0041", "PDT", "x:1,y:2,x:3", "-", "1_000", "٣", "1d", "0x1p3", "Infinity",
)  # fmt: skip
_PATTERNS: Final = (
    None, "", "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSS", "HH:mm", "y", "uuuu/M/d", "yy", "EEEE", "E d MMM", "MMMM", "LLL", "Q", "QQQQ", "D",
    "h:mm a", "K k", "A n N", "SSSSSS", "VV", "z", "O", "OOOO", "X", "XXX", "XXXX", "XXXXX", "x", "xxxxx", "Z", "ZZZZ", "ZZZZZ", "G", "y G",
    "GGGG", "GGGGG", "YYYY-'W'ww", "w", "W", "e", "ee", "eee", "c", "ccc", "g", "pppd", "pp", "[HH:mm]", "yyyy[-MM", "]", "{", "#", "'a", "b", "dd''",
    "MMMMMM", "F", "VVV", "a", "aa", "DDDD", "sss", "ppH", "y[ G]", "Y", "YY", "EEEEE", "eeee", "cc", "qqq", "yyyyyyyyyy", "ppyy",
)  # fmt: skip
_VALUES: Final[dict[str, tuple[object, ...]]] = {
    "I": _INTS,
    "J": _INTS,
    "L": (*_INTS, 2**63 - 1, -(2**63), 253402300799999, 253402300800000, -62135596800001, 10**17, 1767323045678),
    "D": _DOUBLES,
    "E": _DOUBLES,
    "N": (None, *map(Decimal, ("0.00", "9999.99", "-9999.99", "1.25", "-0.05", "12.50"))),
    "M": (None, *map(Decimal, ("0", "9999999999999999999999999999.9999999999", "-1.5", "0.0000000001"))),
    "T": _TEXTS,
    "U": _TEXTS,
    "B": (None, b"", b"\x00", b"AB", b"\xff\xfe\xfd\xfc", bytes(8), bytes(range(16))),
    "DT": (None, dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29)),
    "TM": (None, 0, 1, 86_399_999, 36_930_000),
    "TS": tuple(
        at and at.replace(tzinfo=dt.UTC)
        for at in (None, dt.datetime(1970, 1, 1), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999000), dt.datetime(2024, 3, 31, 2, 30, 0, 5000))  # noqa: DTZ001
    ),
    "F": (None, True, False),
    "P": _PATTERNS,
    "AI": (None, [], [1], [3, None, 1, 3], [2**31 - 1, -(2**31)]),
    "AD": (None, [], [math.nan, 1.0, None, math.nan], [0.0, -0.0], [math.inf]),
    "AT": (None, [], ["a", None, "a"], ["b", ""]),
    "MI": (None, {}, {"a": 1, "b": None}, {"": 2}),
    "MD": (None, {}, {"a": math.nan, "b": 1.5}, {"a": None, "c": -0.0}),
    "S": (None, {"X": 1, "Y": "a"}, {"X": None, "Y": None}),
}  # fmt: skip

_BY_TYPE: Final[dict[str, tuple[str, ...]]] = {
    "INT": ("I", "J", "2", "-1", "0"),
    "BIGINT": ("L", "CAST(I AS BIGINT)", "L"),
    "DOUBLE": ("D", "E", "D", "2E0", "D / 3"),
    "STRING": ("T", "U", "T", "'a'", "','"),
    "BYTES": ("B", "TO_BYTES(T, 'utf8')"),
    "DATE": ("DT",),
    "TIME": ("TM",),
    "TIMESTAMP": ("TS",),
    "BOOLEAN": ("F", "TRUE"),
    "ARRAY<INT>": ("AI",),
    "ARRAY<BIGINT>": ("CAST(AI AS ARRAY<BIGINT>)",),
    "ARRAY<DOUBLE>": ("AD",),
    "ARRAY<STRING>": ("AT", "SPLIT(T, ',')"),
    "MAP<STRING, INT>": ("MI",),
    "MAP<STRING, DOUBLE>": ("MD",),
    "MAP<STRING, STRING>": ("SPLIT_TO_MAP(T, ',', ':')",),
}
_DECIMALS: Final = ("N", "M", "N")
_ELEMENTS: Final = ("INT", "DOUBLE", "STRING")
_UNITS: Final = ("DAYS", "HOURS", "MONTHS", "YEARS", "MILLISECONDS", "MINUTE")
_BY_NAME: Final[dict[str, tuple[str, ...]]] = {
    "pattern": ("'yyyy-MM-dd'", "'yyyy-MM-dd''T''HH:mm:ss.SSS'", "'HH:mm'", "'y'", "'('", "'(a|b)+'", "'[0-9]+'", "P", "T"),
    "format": ("'yyyy-MM-dd'", "T", "P"),
    "zone": ("'UTC'", "'Europe/Paris'", "T", "'+05:30'"),
    "from_zone": ("'UTC'", "'America/New_York'", "T"),
    "to_zone": ("'Asia/Kolkata'", "T", "'-18:00'"),
    "path": ("'$.a'", "'$.A[0]'", "'$.a.b'", "'$[1]'", "T"),
    "encoding": ("'utf8'", "'hex'", "'base64'", "'ascii'", "T"),
    "from_encoding": ("'utf8'", "'hex'", "'base64'", "'ascii'"),
    "to_encoding": ("'utf8'", "'hex'", "'base64'", "'ascii'"),
    "regexp": ("'[a-z]+'", "'('", "T", "'(.)(.)'"),
    "unit": ("'KM'", "'miles'", "T"),
    "byte_order": ("'BIG_ENDIAN'", "'LITTLE_ENDIAN'", "T"),
    "direction": ("'ASC'", "'desc'", "T"),
}  # fmt: skip
_LAMBDAS: Final[dict[str, tuple[str, ...]]] = {
    "FILTER": (
        "FILTER(AI, x => x > 1)", "FILTER(AD, x => x >= 1)", "FILTER(MI, (k, v) => v = 1)", "FILTER(MD, (k, v) => v <> 1.5)",
    ),
    "TRANSFORM": (
        "TRANSFORM(AI, x => x + 1)", "TRANSFORM(AD, x => x * 2)", "TRANSFORM(MI, (k, v) => k + 'x', (k, v) => v + 1)",
        "TRANSFORM(AT, x => LEN(x))", "TRANSFORM(MD, (k, v) => k, (k, v) => v * 2)", "TRANSFORM(AI, x => x / 0)",
    ),
    "REDUCE": (
        "REDUCE(AI, 0, (s, x) => s + x)", "REDUCE(AD, 0E0, (s, x) => s + x)", "REDUCE(MI, 1, (s, k, v) => s * v)",
        "REDUCE(MD, 0E0, (s, k, v) => s + v)", "REDUCE(MD, 2E0, (s, k, v) => CASE WHEN v > s THEN v ELSE s END)", "REDUCE(AT, '', (s, x) => s + x)",
    ),
}  # fmt: skip
_OTHERWISE: Final = {"RANDOM", "UUID", "AS_VALUE"}
"""Nondeterministic functions, and one that is only valid for a key."""
_NOW: Final = {"UNIX_DATE", "UNIX_TIMESTAMP"}

OPERATORS: Final = (
    *(f"D {sign} {other}" for sign in ("=", "<>", "<", "<=", ">", ">=") for other in ("E", "30", "I", "D", "N")),
    "D IS DISTINCT FROM E", "D IS NOT DISTINCT FROM D", "NOT (D > 30)", "D BETWEEN 0 AND E", "D NOT BETWEEN 0 AND 30",
    "D IN (30, 1)", "D NOT IN (30, 1)", "CASE WHEN D > 30 THEN 'hot' WHEN D <= 30 THEN 'cold' ELSE 'broken' END", "AD = AD",
    *(f"{one} {sign} {other}" for one, other in (("I", "J"), ("L", "I"), ("D", "E"), ("N", "N"), ("M", "M"), ("N", "I"), ("M", "L"), ("D", "L")) for sign in "+-*/%"),
    "-I", "-L", "-D", "-N", "I = J", "L < I", "N >= M", "T = U", "T < U", "DT < TS", "F = TRUE", "AI = AI", "MI = MI", "S = S",
    "AI[I]", "AI[-I]", "AI[L]", "AD[1]", "AT[-1]", "MI['a']", "MD[T]", "S->X", "S->Y + T", "T + U", "T LIKE U", "T LIKE '%a%'",
    "T LIKE 'a!%b!_c' ESCAPE '!'", "T LIKE 'a!' ESCAPE '!'", "T LIKE 'a!b' ESCAPE '!'", "T LIKE U ESCAPE '!'", "T NOT LIKE '_'",
    *(f"CAST({one} AS {of})" for one in ("I", "L", "D", "N", "M", "T") for of in ("INT", "BIGINT", "DOUBLE", "DECIMAL(6, 2)", "VARCHAR")),
    *(f"CAST(T AS {of})" for of in ("BOOLEAN", "DATE", "TIME", "TIMESTAMP")),
    *(f"CAST({one} AS VARCHAR)" for one in ("DT", "TM", "TS", "F", "AI", "AD", "MI", "MD", "S")),
    "CAST(TS AS DATE)", "CAST(TS AS TIME)", "CAST(DT AS TIMESTAMP)", "CAST(AD AS ARRAY<INT>)", "CAST(MD AS MAP<STRING, INT>)",
    "ARRAY[I, J]", "MAP('a' := D, T := E)", "STRUCT(A := I, B := T)", "PARSE_TIMESTAMP(T, 'yyyy-MM-dd')", "STRINGTOTIMESTAMP(T, 'yyyy-MM-dd')",
)  # fmt: skip

GROUPS: Final = 7
_PARTS_OF_DOUBLES: Final = (
    "CASE WHEN ABS(D) < 1E300 THEN D END",
    "CASE WHEN D > 9E300 THEN D END",
    "CASE WHEN NOT (D > -1E308) THEN D END",
    "CASE WHEN D > 1E307 OR D < 2 THEN E END",
)
"""Finite numbers; the greatest ones, which some groups lack; NaN and the least ones."""
_OF_NOTHING: Final = (
    "SUM",
    "MIN",
    "MAX",
    "COUNT",
    "COUNT_DISTINCT",
    "COLLECT_LIST",
    "ATTR",
    "EARLIEST_BY_OFFSET",
    "LATEST_BY_OFFSET",
)
"""Aggregates of groups that may have no values."""
AGGREGATES: Final = (
    *(f"SUM({one})" for one in ("I", "L", "D", "CAST(N AS DECIMAL(12, 2))")), *(f"AVG({one})" for one in ("I", "L", "D")),
    *(f"{name}({one})" for name in ("MIN", "MAX", "COUNT", "COUNT_DISTINCT") for one in ("I", "L", "D", "N", "M", "T", "DT", "TM", "TS")),
    *(f"{name}({one}, 3)" for name in ("TOPK", "TOPKDISTINCT") for one in ("I", "L", "D", "N", "T")),
    *(f"COLLECT_LIST({one})" for one in ("I", "D", "T")), "HISTOGRAM(T)", "ATTR(F)", "ATTR(I)", "ATTR(D)",
    *(f"SUM_LIST({one})" for one in ("AI", "AD")), *(f"{name}_BY_OFFSET(D)" for name in ("EARLIEST", "LATEST")),
    *(f"{name}({one})" for name in ("STDDEV_SAMP", "STDDEV_SAMPLE") for one in ("I", "L", "D", *_PARTS_OF_DOUBLES)),
    *(f"AVG({one})" for one in ("N", "M", "CAST(N AS DECIMAL(12, 2))", *_PARTS_OF_DOUBLES)),
    *(f"{name}({one})" for name in _OF_NOTHING for one in _PARTS_OF_DOUBLES), "SUM_LIST(CASE WHEN I > 90 THEN AI END)",
    *(f"{name}({one}, 3)" for name in ("TOPK", "TOPKDISTINCT") for one in _PARTS_OF_DOUBLES),
    "HISTOGRAM(CASE WHEN I > 90 THEN T END)", "CORRELATION(D, E)", "CORRELATION(I, L)", "CORRELATION(I, 1)",
)  # fmt: skip
"""Calls over the rows of a group."""
WITHOUT_ROOM: Final = ("SUM(N)", "SUM(M)")
"""Sums that have no room in their types: a table passes over the record, and an answer has null."""


def rows(seed: int, count: int) -> list[tuple[object, ...]]:
    """Return rows of the stream; the first ones have each value of each column."""
    random = Random(seed)  # noqa: S311 - no secret
    most = max(map(len, _VALUES.values()))
    made: list[tuple[object, ...]] = []
    for at in range(max(count, most)):
        row = [
            values[at] if at < len(values) else random.choice(values) for values in _VALUES.values()
        ]
        made.append((at, *row))
    return made


def calls(seed: int, of_each: int) -> list[str]:
    """Return operators over the columns, and a number of calls per function signature."""
    random = Random(seed)  # noqa: S311 - no secret
    found = dict.fromkeys(OPERATORS)
    for name, function in SQL_FUNCTIONS.items():
        if not function.hidden and name not in _OTHERWISE:
            found |= dict.fromkeys(_LAMBDAS.get(name) or _drawn(random, function, of_each))
    return list(found)


def _drawn(random: Random, function: SqlFunction, of_each: int) -> Iterator[str]:
    for signature in function.signatures:
        if not signature.parameters and function.name in _NOW:
            continue
        for _ in range(of_each):
            times = random.choice([1, 2, 3]) if signature.variadic else 1
            listed = list(signature.parameters)
            if signature.variadic:
                at = len(listed) - 1 - signature.trailing
                listed[at : at + 1] = [listed[at]] * times
            generic: dict[str, Type] = {}
            args = [_argument(random, parameter, generic) for parameter in listed]
            if function.name == "PARSE_DATE" and args[-1] == "P":
                # Transient queries refuse format letters of weeks and zones.
                args[-1] = "REGEXP_REPLACE(P, '[wWYFzZX]', '')"
            yield f"{function.name}({', '.join(args)})"


def _argument(random: Random, parameter: Parameter, generic: dict[str, Type]) -> str:
    if parameter.type == UNIT:
        return random.choice(_UNITS)
    if str(parameter.type) == "STRING" and parameter.name in _BY_NAME:
        return random.choice(_BY_NAME[parameter.name])
    return random.choice(_of_type(_filled(random, parameter.type, generic)))


def _filled(random: Random, of: Type, generic: dict[str, Type]) -> Type:
    match of:
        case Generic(name=name):
            return generic.setdefault(
                name, parse_type("STRING" if name == "K" else random.choice(_ELEMENTS))
            )
        case Array(element=element):
            return Array(_filled(random, element, generic))
        case Map(value=value):
            return Map(parse_type("STRING"), _filled(random, value, generic))
        case _:
            return of


def _of_type(of: Type) -> tuple[str, ...]:
    if isinstance(of, AnyDecimal):
        return _DECIMALS
    if isinstance(of, Struct):
        return ("S",)
    assert not isinstance(of, LambdaOf), of
    if str(of) in _BY_TYPE:
        return _BY_TYPE[str(of)]
    return (f"CAST(NULL AS {sql_name(of)})",)

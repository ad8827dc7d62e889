"""Random columns, rows and damage, from a given source of chance."""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal as PythonDecimal
from random import Random
from typing import Any, Final

from duolog.core.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
    parse_columns,
)

Columns = tuple[Column, ...]

NAMES: Final = ("A", "b", "C_1", "Delay", "e", "F")
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MILLISECOND: Final = dt.timedelta(milliseconds=1)
TEXTS: Final = ("", "x", 'q"\\/', "\x00\x1f\t\n", "é\u2028😀", "null", "a" * 200)
DOUBLES: Final = (0.0, -0.0, 0.1, 1e7, 9999999.5, 0.001, -1.5e-300, 1e300, float("inf"))
_PLAIN: Final[dict[Type, Callable[[Random], object]]] = {
    BOOLEAN: lambda chance: chance.random() < 0.5,
    INT: lambda chance: chance.choice((0, -1, 63, 64, 2**31 - 1, -(2**31), chance.getrandbits(16))),
    BIGINT: lambda chance: chance.choice((0, -1, 2**63 - 1, -(2**63), chance.getrandbits(40))),
    DOUBLE: lambda chance: chance.choice((*DOUBLES, chance.uniform(-1e6, 1e6))),
    STRING: lambda chance: chance.choice(TEXTS),
    BYTES: lambda chance: chance.randbytes(chance.randrange(4)),
    DATE: lambda chance: dt.date.fromordinal(chance.randrange(1, dt.date.max.toordinal())),
    TIME: lambda chance: chance.randrange(86_400_000),
    TIMESTAMP: lambda chance: EPOCH + chance.randrange(-(10**12), 10**13) * MILLISECOND,
}
_KEYS: Final = (STRING, INT, BIGINT)
_DEPTH_MAX: Final = 3


def columns_of(text: str) -> Columns:
    return parse_columns(text)


def random_columns(chance: Random, count: int = len(NAMES)) -> Columns:
    return tuple(Column(name, random_type(chance, 0)) for name in NAMES[:count])


def random_type(chance: Random, depth: int) -> Type:
    kind = chance.randrange(4 if depth >= _DEPTH_MAX else 8)
    if kind == 0:
        precision = chance.randint(1, 38)
        return Decimal(precision, chance.randint(0, precision))
    if kind < 4:
        return chance.choice(sorted(_PLAIN, key=str))
    inner = random_type(chance, depth + 1)
    if kind == 4:
        return Array(inner)
    if kind == 5:
        return Map(chance.choice(_KEYS), inner)
    others = (random_type(chance, depth + 1) for _ in range(chance.randrange(3)))
    return Struct(tuple(map(Column, NAMES, (inner, *others))))


def random_row(chance: Random, columns: Columns, *, entries_max: int = 3) -> tuple[Any, ...]:
    """Return a row; its maps have `entries_max` entries at most.

    PySpark changes the order of entries on the way from Python to Spark.
    """
    return tuple(random_value(chance, column.type, entries_max) for column in columns)


def random_value(chance: Random, of: Type, entries_max: int) -> Any:
    if chance.random() < 0.15:
        return None
    few = range(chance.randrange(4))
    match of:
        case Array(element=element):
            return [random_value(chance, element, entries_max) for _ in few]
        case Map(key=key, value=inner):
            return {
                _PLAIN[key](chance): random_value(chance, inner, entries_max)
                for _ in few[:entries_max]
            }
        case Struct(fields=fields):
            return {field.name: random_value(chance, field.type, entries_max) for field in fields}
        case Decimal(precision=precision, scale=scale):
            digits = chance.randrange(1, precision + 1)
            unscaled = chance.randrange(-(10**digits) + 1, 10**digits)
            return PythonDecimal(f"{unscaled}e-{scale}")
        case _:
            return _PLAIN[of](chance)


def damaged(chance: Random, data: bytes) -> Iterator[bytes]:
    """Yield bytes with damage after their frame: cut, changed or longer."""
    start = 5
    if len(data) > start:
        yield data[: chance.randrange(start, len(data))]
        for _ in range(3):
            at = chance.randrange(start, len(data))
            yield data[:at] + chance.randbytes(1) + data[at + 1 :]
    yield data + b"\0"
    yield data[:start] + chance.randbytes(chance.randrange(12))

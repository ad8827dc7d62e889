"""The casts that SQL supports.

    any type but BYTES   to STRING
    STRING               to BOOLEAN, numbers, DATE, TIME, TIMESTAMP
    a number             to a number
    DATE                 to TIMESTAMP
    TIMESTAMP            to DATE, TIME
    ARRAY, MAP, STRUCT   to the same kind, part by part; fields of a STRUCT by name

Source: ksqlDB's documentation of CAST.
"""

from typing import Final

from duolog.plan.types import (
    BOOLEAN,
    BYTES,
    DATE,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Map,
    Struct,
    Type,
    numeric,
)

_OF_TIME: Final = {(TIMESTAMP, DATE), (TIMESTAMP, TIME), (DATE, TIMESTAMP)}
_FROM_TEXT: Final = {BOOLEAN, DATE, TIME, TIMESTAMP}


def castable(given: Type, wanted: Type) -> bool:  # noqa: PLR0911 - a table of cases
    """Return True if a cast between the types exists; some values may become null."""
    if given in {wanted, NULL} or (numeric(given) and numeric(wanted)):
        return True
    match given, wanted:
        case Array(element=one), Array(element=other):
            return castable(one, other)
        case Map(key=k1, value=v1), Map(key=k2, value=v2):
            return castable(k1, k2) and castable(v1, v2)
        case Struct(fields=fields), Struct(fields=others):
            known = dict(fields)
            return all(castable(known.get(name, NULL), of) for name, of in others)
        case _ if wanted == STRING:
            return given != BYTES
        case _ if given == STRING:
            return wanted in _FROM_TEXT or numeric(wanted)
        case _:
            return (given, wanted) in _OF_TIME

"""Column types in random SQL: values as JSON and as DuckDB literals, and comparable results.

A DATE, TIME or TIMESTAMP is the number that it is in JSON, in DuckDB too: they are only compared.
"""

from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A type: its names, and values to choose from."""

    sql: str
    duck: str
    values: tuple[Any, ...]


_TEXTS: Final = ("a", "b", "B", "", "ab c", "Zoë", " x ", "a%b", "12", "it's")
KINDS: Final = {
    "INT": Kind("INT", "BIGINT", (-7, -1, 0, 1, 2, 3, 5, 8, 40)),
    "BIGINT": Kind("BIGINT", "BIGINT", (-3_000_000_000, -2, 0, 1, 2, 9, 5_000_000_000)),
    "DOUBLE": Kind("DOUBLE", "DOUBLE", (-2.5, -1.0, 0.0, 0.25, 1.0, 3.5, 10.0)),
    "DECIMAL": Kind(
        "DECIMAL(9, 2)",
        "DECIMAL(9, 2)",
        (Decimal("-1.25"), Decimal("0.00"), Decimal("3.10"), Decimal("99.99")),
    ),
    "STRING": Kind("STRING", "VARCHAR", _TEXTS),
    "BOOLEAN": Kind("BOOLEAN", "BOOLEAN", (True, False)),
    "DATE": Kind("DATE", "BIGINT", (-1, 0, 18_000, 18_001)),
    "TIME": Kind("TIME", "BIGINT", (0, 1_000, 86_399_999)),
    "TIMESTAMP": Kind("TIMESTAMP", "BIGINT", (0, 1_600_000_000_000, 1_600_000_000_001)),
    "ARRAY": Kind("ARRAY<INT>", "BIGINT[]", ([], [1], [2, None, 3], [5, 5])),
    "MAP": Kind("MAP<STRING, INT>", "MAP(VARCHAR, BIGINT)", ({}, {"k": 1}, {"k": 2, "l": None})),
    "STRUCT": Kind(
        "STRUCT<A INT, S STRING>",
        "STRUCT(A BIGINT, S VARCHAR)",
        ({"A": 1, "S": "x"}, {"A": None, "S": "y"}, {"A": 2, "S": None}),
    ),
}
NUMBERS: Final = ("INT", "BIGINT", "DOUBLE", "DECIMAL")
ORDERED: Final = (*NUMBERS, "STRING", "DATE", "TIME", "TIMESTAMP")
KEYS: Final = (*ORDERED, "BOOLEAN")
"""Types that records can be grouped by: they have no parts."""
KAFKA: Final = ("INT", "BIGINT", "DOUBLE", "STRING")
"""Types of a key in the format KAFKA."""


def drawn(random: Random, kind: str, nulls: float = 0.15) -> Any:
    """Return a value of a type, or None."""
    return None if random.random() < nulls else random.choice(KINDS[kind].values)


def sql_literal(value: Any, kind: str) -> str:
    """Return a value as a SQL literal; None if there is none."""
    match kind:
        case "STRING":
            return quoted(value)
        case "DOUBLE":
            return f"{value!r}E0"
        case "BIGINT" | "DECIMAL":
            return f"CAST({value} AS {KINDS[kind].sql})"
        case _:
            return str(value).lower() if kind == "BOOLEAN" else str(value)


def duck_literal(value: Any, kind: str) -> str:
    """Return a value as an expression of DuckDB."""
    if value is None:
        return f"CAST(NULL AS {KINDS[kind].duck})"
    match kind:
        case "STRING":
            return quoted(value)
        case "ARRAY":
            return f"CAST([{', '.join('NULL' if one is None else str(one) for one in value)}] AS BIGINT[])"
        case "MAP":
            pairs = ", ".join(
                f"{quoted(k)}: {'NULL' if v is None else v}" for k, v in value.items()
            )
            return f"CAST(MAP {{{pairs}}} AS {KINDS[kind].duck})"
        case "STRUCT":
            number = "NULL" if value["A"] is None else value["A"]
            text = "NULL" if value["S"] is None else quoted(value["S"])
            return f"CAST({{'A': {number}, 'S': {text}}} AS {KINDS[kind].duck})"
        case _:
            return f"CAST({quoted(str(value))} AS {KINDS[kind].duck})"


def quoted(text: str) -> str:
    """Return a text as a literal, of both languages."""
    return "'" + text.replace("'", "''") + "'"


def comparable(value: Any) -> Any:
    """Return a value in comparable form: numbers by value, doubles rounded."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float() | Decimal():
            return _number(value)
        case {"key": list(keys), "value": list(values)} if (
            len(value) == 2
        ):  # a map, as DuckDB may give it
            return comparable(dict(zip(keys, values, strict=True)))
        case dict():
            return tuple(sorted((name, comparable(one)) for name, one in value.items()))
        case list() | tuple():
            return tuple(comparable(one) for one in value)
        case _:
            return str(value)


def _number(value: float | Decimal) -> str:
    text = f"{Decimal(value):.9E}"
    digits, exponent = text.split("E")
    return "0" if not float(digits) else f"{digits.rstrip('0').rstrip('.')}E{int(exponent)}"


def order_of(value: Any) -> str:
    """Return a sort key for comparable values of all types."""
    return repr(value)

"""Durations as statements say them: a number of a unit that is always as long.

A week has seven days. Months, quarters and years are of no fixed length: they are windows of the calendar (`windowing`).
"""

from typing import Final

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.words import CALENDAR_UNITS, UNITS

_FIXED: Final = {**UNITS, "WEEK": 7 * UNITS["DAY"]}
_KNOWN: Final = "DAYS, HOURS, MINUTES, SECONDS or MILLISECONDS"


def milliseconds(node: nodes.Duration) -> int:
    """Return how long a number of a unit is.

    Raises:
        SqlError: it is of no fixed length.
    """
    unit = node.args["unit"].name
    if unit not in _FIXED:
        raise SqlError(
            f"A {unit} is not always as long: {node.this.name} {unit} is no duration",
            at=place_of(node),
            hint="Say it in DAYS. A window of the calendar is WINDOW TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin').",
        )
    return int(node.this.name) * _FIXED[unit]


def property_ms(name: str, text: str) -> int:
    """Return how long the text of a property says: '10 SECONDS'.

    Raises:
        SqlError: it says no duration, or one of no length.
    """
    number, unit = number_and_unit(name, text)
    if unit not in _FIXED:
        raise SqlError(
            f"Configuration {name} is invalid: Invalid duration: '{text}'. A {unit} is not always as long",
            hint=f"Say it in {_KNOWN}.",
        )
    return number * _FIXED[unit]


def number_and_unit(name: str, text: str) -> tuple[int, str]:
    """Return what the text of a property says, the unit in the singular, be it one of the calendar.

    Raises:
        SqlError: it is no number of a unit, or none at all.
    """
    number, _, word = text.strip().partition(" ")
    said = word.strip().upper()
    unit = said.removesuffix("S")
    why = ""
    if unit not in UNITS.keys() | CALENDAR_UNITS:
        why = f"Unknown time unit: '{said}'"
    elif not number.isdecimal() or int(number) == 0:
        why = f"Not a positive number: '{number}'"
    if why:
        raise SqlError(f"Configuration {name} is invalid: Invalid duration: '{text}'. {why}")
    return int(number), unit

"""Durations in statements: a number and a unit of fixed length.

A week has seven days. Months, quarters and years have no fixed length; windows of that size follow
the calendar (`duolog.ksql.planning.windowing`).
"""

from typing import Final

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.words import CALENDAR_UNITS, UNITS

_FIXED: Final = {**UNITS, "WEEK": 7 * UNITS["DAY"]}
_KNOWN: Final = "DAYS, HOURS, MINUTES, SECONDS or MILLISECONDS"


def milliseconds(node: nodes.Duration) -> int:
    """Return a duration in milliseconds.

    Raises:
        SqlError: the unit has no fixed length.
    """
    unit = node.args["unit"].name
    if unit not in _FIXED:
        raise SqlError(
            f"{node.this.name} {unit} is not a fixed duration: the length of a {unit} varies",
            at=place_of(node),
            hint="Use DAYS. For windows of the calendar, use WINDOW TUMBLING (SIZE 1 MONTH, "
            "TIMEZONE 'Europe/Berlin').",
        )
    return int(node.this.name) * _FIXED[unit]


def property_ms(name: str, text: str) -> int:
    """Return the duration in the text of a property, such as '10 SECONDS', in milliseconds.

    Raises:
        SqlError: the text is not a duration, or its unit has no fixed length.
    """
    number, unit = number_and_unit(name, text)
    if unit not in _FIXED:
        raise SqlError(
            f"Configuration {name} is invalid: Invalid duration: '{text}'. The length "
            f"of a {unit} varies",
            hint=f"Use {_KNOWN}.",
        )
    return number * _FIXED[unit]


def number_and_unit(name: str, text: str) -> tuple[int, str]:
    """Return number and unit (in the singular) of a property's text; calendar units are allowed.

    Raises:
        SqlError: the text is not a positive number and a unit.
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

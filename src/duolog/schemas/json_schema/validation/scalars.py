"""Checks of types, values, numbers and strings."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import jsonschema

from duolog.core.counts import counted
from duolog.schemas.json_schema import patterns
from duolog.schemas.json_schema.json_text import JsonValue
from duolog.schemas.json_schema.validation.place import Place
from duolog.schemas.json_schema.validation.run import Check, Evaluated, Problem, Run, Value
from duolog.schemas.json_schema.validation.values import (
    comparable,
    exact,
    has_type,
    is_multiple,
    is_number,
    shown,
    type_name,
)

_FORMATS: Final = jsonschema.FormatChecker()
_FORMATS_OF_PYTHON: Final = frozenset({"regex"})
"""Formats that the library checks with Python's `re`, whose syntax is another one."""


def _type(place: Place, value: JsonValue) -> Check | None:
    names = [
        name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)
    ]
    whole_floats = place.number > 4

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        for name in names:
            if has_type(instance, name, whole_floats=whole_floats):
                return None
        return Problem(f"{type_name(instance)} {shown(instance)} is not {' or '.join(names)}")

    return check if names else None


def _enum(_place: Place, value: JsonValue) -> Check | None:
    if not isinstance(value, list):
        return None
    allowed = {comparable(item) for item in value}

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if comparable(instance) in allowed:
            return None
        among = "the value" if len(allowed) == 1 else f"one of the {len(allowed)} values"
        return Problem(f"{shown(instance)} is not {among} in enum")

    return check


def _const(place: Place, value: JsonValue) -> Check | None:
    wanted = comparable(value)

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if comparable(instance) == wanted:
            return None
        return Problem(f"{shown(instance)} is not {shown(value)}")

    return check if place.number > 4 else None


def _bound(
    relation: str, refuses: Callable[[int | Decimal, int | Decimal], bool], inclusive: str = ""
) -> Callable[[Place, JsonValue], Check | None]:
    """Return a factory for a bound of numbers.

    Args:
        relation: what a refused number is, for the message.
        refuses: whether a number is out of the bound.
        inclusive: the keyword that has the number if draft 4 has a flag here.
    """

    def factory(place: Place, value: JsonValue) -> Check | None:
        limit = place.raw.get(inclusive) if value is True else value
        if not is_number(limit):
            return None
        bound = exact(limit)

        def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
            if is_number(instance) and refuses(exact(instance), bound):
                return Problem(f"{shown(instance)} is {relation} {shown(bound)}")
            return None

        return check

    return factory


def _multiple_of(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    factor = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if is_number(instance) and not is_multiple(instance, factor):
            return Problem(f"{shown(instance)} is not a multiple of {shown(factor)}")
        return None

    return check


def _min_length(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    least = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, str) and len(instance) < least:
            return Problem(f"{shown(instance)} is shorter than {counted(int(least), 'character')}")
        return None

    return check


def _max_length(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    most = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, str) and len(instance) > most:
            return Problem(f"{shown(instance)} is longer than {counted(int(most), 'character')}")
        return None

    return check


def _pattern(_place: Place, value: JsonValue) -> Check | None:
    if not isinstance(value, str):
        return None
    pattern = patterns.pattern(value)

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, str) and pattern.found_in(instance) is False:
            return Problem(f"{shown(instance)} does not match {shown(pattern.expression)}")
        return None

    return check


def _format(_place: Place, value: JsonValue) -> Check | None:
    if not isinstance(value, str) or value in _FORMATS_OF_PYTHON:
        return None
    name = value

    def check(instance: Value, run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if run.formats and isinstance(instance, str) and not _FORMATS.conforms(instance, name):
            return Problem(f"{shown(instance)} is not a valid {name}")
        return None

    return check


SCALARS: Final = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound("less than the minimum", lambda number, bound: number < bound),
    "maximum": _bound("more than the maximum", lambda number, bound: number > bound),
    "exclusiveMinimum": _bound(
        "not more than", lambda number, bound: number <= bound, inclusive="minimum"
    ),
    "exclusiveMaximum": _bound(
        "not less than", lambda number, bound: number >= bound, inclusive="maximum"
    ),
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
}
"""For each keyword, a function that makes its check."""

"""Functions that take a lambda, called for each element or entry.

A lambda is passed as Spark SQL, ``(`p_X`, `p_Y`) -> …`` or ```p_X` -> …``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from duolog.engine.lowering.spark_sql.pinned_texts import are_compared, are_pinned
from duolog.engine.lowering.spark_sql.sql import spark_type, text
from duolog.engine.lowering.sql_functions.lowering import Lowering
from duolog.plan.types import BYTES, STRING, Array, Map, Struct, Type

_NAME: Final = r"`(?:[^`]|``)*`"
_LAMBDA: Final = re.compile(rf"\(?({_NAME}(?:, {_NAME})*)\)? -> (.*)\Z", re.DOTALL)


class _Lambda(NamedTuple):
    """The names of the parameters, and the body."""

    parameters: list[str]
    body: str


def _parts(lowered: str) -> _Lambda:
    found = _LAMBDA.match(lowered)
    assert found is not None, lowered
    return _Lambda(re.findall(_NAME, found[1]), found[2])


def _filter(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    given, condition = args
    if isinstance(types[0], Array):
        return f"filter({given}, {condition})"
    # It is used twice, so Spark computes it once, before the expressions that would catch its
    # failure.
    kept = f"duolog_try(map_filter({given}, {condition}))"
    # As in ksqlDB, which collects the rest into a map that does not allow nulls.
    return _distinct(f"map_keys({kept})", f"map_values({kept})", result)


def _transform(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    given, *functions = args
    if isinstance(types[0], Array):
        assert isinstance(result, Array), result
        return f"transform({given}, {_weighed(functions[0], result.element)})"
    assert isinstance(result, Map), result
    keys, values = (
        _of_entries(given, one, of)
        for one, of in zip(functions, (result.key, result.value), strict=True)
    )
    return _distinct(keys, values, result)


def _of_entries(given: str, function: str, of: Type) -> str:
    """Return the results of a function for each entry of a map, in order."""
    if not _is_weighed(of):
        return f"map_values(transform_values({given}, {function}))"
    (key, value), body = _parts(function)
    body = _named(key, "entry.key", _named(value, "entry.value", body))
    return f"transform(map_entries({given}), (entry, place) -> duolog_weighed({body}, place))"


def _weighed(function: str, of: Type) -> str:
    """Return a lambda that fails once the total size of its results is too large."""
    if not _is_weighed(of):
        return function
    (parameter,), body = _parts(function)
    return f"({parameter}, place) -> duolog_weighed({body}, place)"


def _is_weighed(of: Type) -> bool:
    """Return whether values of a type may be large; numbers are no larger than their input."""
    return (of in {STRING, BYTES} or isinstance(of, Array | Map | Struct)) and not are_compared()


def _distinct(keys: str, values: str, result: Type) -> str:
    return f"duolog_map_distinct({keys}, {values}, {text(spark_type(result))})"


def _reduce(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    given, start, function = args
    parameters, body = _parts(function)
    # Spark requires each step to have the type of the start.
    body = f"CAST({body} AS {spark_type(result)})"
    grows = result in {STRING, BYTES} or isinstance(result, Array | Map)
    if grows and not are_pinned():
        # A state that doubles with each element would soon exhaust the memory.
        body = f"duolog_bounded({body}, {text(spark_type(result))})"
    if isinstance(result, Array | Map | Struct) and not are_compared():
        # Few elements may be large. Each step weighs the whole state.
        body = f"duolog_weighed({body}, 0)"
    if isinstance(types[0], Array):
        elements, (state, element) = given, parameters
    else:
        # One entry at a time; its parts are bound to names by a list with one element.
        elements, element = f"map_entries({given})", "entry"
        state, key, value = parameters
        body = _named(key, "entry.key", _named(value, "entry.value", body))
    reduced = f"aggregate({elements}, {start}, ({state}, {element}) -> {body})"
    return f"CASE WHEN {given} IS NULL THEN {start} ELSE {reduced} END"


def _named(name: str, value: str, body: str) -> str:
    return f"get(transform(array({value}), {name} -> {body}), 0)"


LAMBDA_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "FILTER": _filter,
    "TRANSFORM": _transform,
    "REDUCE": _reduce,
}

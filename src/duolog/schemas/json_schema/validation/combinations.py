"""Checks of schemas that apply to the same value: allOf, anyOf, oneOf, not and if."""

from typing import Final

from duolog.schemas.json_schema.documents import Node
from duolog.schemas.json_schema.json_text import JsonValue
from duolog.schemas.json_schema.validation.place import Place
from duolog.schemas.json_schema.validation.run import Check, Evaluated, Problem, Run, Value


def _branches(place: Place, value: JsonValue) -> list[Node]:
    return [place.schema(raw) for raw in value] if isinstance(value, list) else []


def _all_of(place: Place, value: JsonValue) -> Check | None:
    branches = _branches(place, value)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        for branch in branches:
            problem = run.check(branch, instance, evaluated)
            if problem is not None:
                return problem
        return None

    return check


def _any_of(place: Place, value: JsonValue) -> Check | None:
    branches = _branches(place, value)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        found = False
        first: Problem | None = None
        for branch in branches:
            own = None if evaluated is None else Evaluated()
            problem = run.check(branch, instance, own)
            first = first or problem
            if problem is None:
                found = True
                if evaluated is None or own is None:
                    return None
                evaluated.merge(own)
        return None if found else _none_fits("anyOf", branches, first)

    return check


def _one_of(place: Place, value: JsonValue) -> Check | None:
    branches = _branches(place, value)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        fitting: list[int] = []
        accepted: Evaluated | None = None
        first: Problem | None = None
        for position, branch in enumerate(branches):
            own = None if evaluated is None else Evaluated()
            problem = run.check(branch, instance, own)
            first = first or problem
            if problem is None:
                fitting.append(position)
                accepted = own
                if len(fitting) > 1:
                    return Problem(f"it fits two branches of oneOf: {fitting[0]} and {position}")
        if not fitting:
            return _none_fits("oneOf", branches, first)
        if evaluated is not None and accepted is not None:
            evaluated.merge(accepted)
        return None

    return check


def _none_fits(keyword: str, branches: list[Node], first: Problem | None) -> Problem | None:
    if not branches:
        return None  # Only an unchecked schema has none.
    if len(branches) == 1:
        return first
    among = "not the branch" if len(branches) == 1 else f"none of the {len(branches)} branches"
    return Problem(f"it fits {among} of {keyword}; {first}"[:500])


def _not(place: Place, value: JsonValue) -> Check | None:
    refused = place.schema(value)

    def check(instance: Value, run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if run.check(refused, instance) is None:
            return Problem("it fits the schema in not")
        return None

    return check


def _if(place: Place, value: JsonValue) -> Check | None:
    if place.number < 7:
        return None
    condition = place.schema(value)
    then = place.schema(place.raw["then"]) if "then" in place.raw else None
    otherwise = place.schema(place.raw["else"]) if "else" in place.raw else None

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        own = None if evaluated is None else Evaluated()
        if run.check(condition, instance, own) is None:
            if evaluated is not None and own is not None:
                evaluated.merge(own)
            return None if then is None else run.check(then, instance, evaluated)
        return None if otherwise is None else run.check(otherwise, instance, evaluated)

    return check


COMBINATIONS: Final = {
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
"""For each keyword, a function that makes its check."""

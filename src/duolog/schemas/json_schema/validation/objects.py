"""Checks of objects."""

from typing import Final

from duolog.core.counts import counted
from duolog.schemas.json_schema.documents import Node
from duolog.schemas.json_schema.json_text import JsonValue
from duolog.schemas.json_schema.patterns import Pattern, pattern
from duolog.schemas.json_schema.validation.place import Place
from duolog.schemas.json_schema.validation.run import Check, Evaluated, Problem, Run, Value
from duolog.schemas.json_schema.validation.values import is_number


def _properties(place: Place, _value: JsonValue) -> Check | None:
    schemas = place.schemas("properties")

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, dict):
            return None
        for name, schema in schemas.items():
            if name in instance:
                problem = run.check(schema, instance[name])
                if problem is not None:
                    return problem.below(name)
                if evaluated is not None:
                    evaluated.names.add(name)
        return None

    return check


def _patterns_of(place: Place) -> list[tuple[Pattern, Node]]:
    return [(pattern(name), node) for name, node in place.schemas("patternProperties").items()]


def _pattern_properties(place: Place, _value: JsonValue) -> Check | None:
    patterns = _patterns_of(place)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, dict):
            return None
        for name, item in instance.items():
            for expression, schema in patterns:
                if expression.found_in(name):
                    problem = run.check(schema, item)
                    if problem is not None:
                        return problem.below(name)
                    if evaluated is not None:
                        evaluated.names.add(name)
        return None

    return check


def _additional_properties(place: Place, value: JsonValue) -> Check | None:
    schema = place.schema(value)
    named = place.schemas("properties")
    patterns = _patterns_of(place)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, dict):
            return None
        for name, item in instance.items():
            if name in named or any(expression.found_in(name) for expression, _ in patterns):
                continue
            problem = _unnamed(run, schema, item)
            if problem is not None:
                return problem.below(name)
            if evaluated is not None:
                evaluated.names.add(name)
        return None

    return check


def _unnamed(run: Run, schema: Node, item: Value) -> Problem | None:
    if schema.raw is False:
        return Problem("no property of this name is allowed")
    return run.check(schema, item)


def _unevaluated_properties(place: Place, value: JsonValue) -> Check | None:
    if not place.node.draft.modern:
        return None
    schema = place.schema(value)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, dict) or evaluated is None:
            return None
        for name, item in instance.items():
            if name not in evaluated.names:
                problem = _unnamed(run, schema, item)
                if problem is not None:
                    return problem.below(name)
                evaluated.names.add(name)
        return None

    return check


def _property_names(place: Place, value: JsonValue) -> Check | None:
    if place.number < 6:
        return None
    schema = place.schema(value)

    def check(instance: Value, run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, dict):
            for name in instance:
                problem = run.check(schema, name)
                if problem is not None:
                    return Problem(f"the name is not allowed: {problem.message}").below(name)
        return None

    return check


def _required(_place: Place, value: JsonValue) -> Check | None:
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        return _missing(instance, names, "")

    return check if names else None


def _missing(instance: Value, names: list[str], reason: str) -> Problem | None:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                return Problem(f'the property "{name[:100]}" is missing{reason}')
    return None


def _dependent_required(_place: Place, value: JsonValue) -> Check | None:
    lists = {
        name: [item for item in items if isinstance(item, str)]
        for name, items in (value.items() if isinstance(value, dict) else ())
        if isinstance(items, list)
    }

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, dict):
            for name, names in lists.items():
                if name in instance:
                    problem = _missing(instance, names, f', which "{name[:100]}" requires')
                    if problem is not None:
                        return problem
        return None

    return check


def _dependent_schemas(place: Place, value: JsonValue) -> Check | None:
    schemas = {
        name: place.schema(raw)
        for name, raw in (value.items() if isinstance(value, dict) else ())
        if not isinstance(raw, list)
    }

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, dict):
            for name, schema in schemas.items():
                if name in instance:
                    problem = run.check(schema, instance, evaluated)
                    if problem is not None:
                        return problem
        return None

    return check


def _dependencies(place: Place, value: JsonValue) -> Check | None:
    if place.node.draft.modern:
        return None
    lists, schemas = _dependent_required(place, value), _dependent_schemas(place, value)
    if lists is None or schemas is None:
        return None

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        return lists(instance, run, evaluated) or schemas(instance, run, evaluated)

    return check


def _modern_required(place: Place, value: JsonValue) -> Check | None:
    return _dependent_required(place, value) if place.node.draft.modern else None


def _modern_schemas(place: Place, value: JsonValue) -> Check | None:
    return _dependent_schemas(place, value) if place.node.draft.modern else None


def _min_properties(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    least = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, dict) and len(instance) < least:
            return Problem(
                f"it has {counted(len(instance), 'property', 'properties')}, fewer than {least}"
            )
        return None

    return check


def _max_properties(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    most = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, dict) and len(instance) > most:
            return Problem(
                f"it has {counted(len(instance), 'property', 'properties')}, more than {most}"
            )
        return None

    return check


OBJECTS: Final = {
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "propertyNames": _property_names,
    "required": _required,
    "dependencies": _dependencies,
    "dependentRequired": _modern_required,
    "dependentSchemas": _modern_schemas,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
}
"""For each keyword, a function that makes its check."""

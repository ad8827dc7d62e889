"""Checks of arrays."""

from typing import Final

from duolog.core.counts import counted
from duolog.schemas.json_schema.documents import Node
from duolog.schemas.json_schema.json_text import JsonValue
from duolog.schemas.json_schema.validation.place import Place
from duolog.schemas.json_schema.validation.run import Check, Evaluated, Problem, Run, Value
from duolog.schemas.json_schema.validation.values import comparable, is_number


def _check_item(run: Run, schema: Node, items: list[Value], position: int) -> Problem | None:
    if schema.raw is False:
        return Problem("no item is allowed here").below(str(position))
    problem = run.check(schema, items[position])
    return None if problem is None else problem.below(str(position))


def _rest(schema: Node, start: int) -> Check:
    """Return the check of all items from one position."""

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, list):
            return None
        for position in range(start, len(instance)):
            problem = _check_item(run, schema, instance, position)
            if problem is not None:
                return problem
        if evaluated is not None and len(instance) > start:
            evaluated.all_items = True
        return None

    return check


def _places(schemas: list[Node]) -> Check:
    """Return the check of the first items, each by its own schema."""

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, list):
            return None
        for position, (schema, item) in enumerate(zip(schemas, instance, strict=False)):
            problem = run.check(schema, item)
            if problem is not None:
                return problem.below(str(position))
        if evaluated is not None:
            evaluated.items.update(range(min(len(schemas), len(instance))))
        return None

    return check


def _items(place: Place, value: JsonValue) -> Check | None:
    if isinstance(value, list):
        return _places([place.schema(raw) for raw in value]) if place.number < 9 else None
    prefix = place.raw.get("prefixItems") if place.number >= 9 else None
    return _rest(place.schema(value), len(prefix) if isinstance(prefix, list) else 0)


def _prefix_items(place: Place, value: JsonValue) -> Check | None:
    if place.number < 9 or not isinstance(value, list):
        return None
    return _places([place.schema(raw) for raw in value])


def _additional_items(place: Place, value: JsonValue) -> Check | None:
    items = place.raw.get("items")
    if place.number >= 9 or not isinstance(items, list):
        return None
    return _rest(place.schema(value), len(items))


def _contains(place: Place, value: JsonValue) -> Check | None:
    if place.number < 6:
        return None
    schema = place.schema(value)
    least, most = place.raw.get("minContains", 1), place.raw.get("maxContains")
    is_counted = place.node.draft.modern
    if not is_counted or not is_number(least):
        least = 1
    limit = most if is_counted and is_number(most) else None

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, list):
            return None
        fitting = [
            position for position, item in enumerate(instance) if run.check(schema, item) is None
        ]
        if len(fitting) < least:
            return Problem(f"{_fit(fitting)} the schema in contains, fewer than {least}")
        if limit is not None and len(fitting) > limit:
            return Problem(f"{_fit(fitting)} the schema in contains, more than {limit}")
        if evaluated is not None and place.number >= 9:
            evaluated.items.update(fitting)
        return None

    return check


def _fit(positions: list[int]) -> str:
    return f"{counted(len(positions), 'item')} {'fits' if len(positions) == 1 else 'fit'}"


def _unevaluated_items(place: Place, value: JsonValue) -> Check | None:
    if not place.node.draft.modern:
        return None
    schema = place.schema(value)

    def check(instance: Value, run: Run, evaluated: Evaluated | None) -> Problem | None:
        if not isinstance(instance, list) or evaluated is None or evaluated.all_items:
            return None
        for position in range(len(instance)):
            if position not in evaluated.items:
                problem = _check_item(run, schema, instance, position)
                if problem is not None:
                    return problem
        evaluated.all_items = True
        return None

    return check


def _unique_items(_place: Place, value: JsonValue) -> Check | None:
    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, list):
            first: dict[object, int] = {}
            for position, item in enumerate(instance):
                earlier = first.setdefault(comparable(item), position)
                if earlier != position:
                    return Problem(f"the items {earlier} and {position} are equal")
        return None

    return check if value is True else None


def _min_items(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    least = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, list) and len(instance) < least:
            return Problem(f"it has {counted(len(instance), 'item')}, fewer than {least}")
        return None

    return check


def _max_items(_place: Place, value: JsonValue) -> Check | None:
    if not is_number(value):
        return None
    most = value

    def check(instance: Value, _run: Run, _evaluated: Evaluated | None) -> Problem | None:
        if isinstance(instance, list) and len(instance) > most:
            return Problem(f"it has {counted(len(instance), 'item')}, more than {most}")
        return None

    return check


ARRAYS: Final = {
    "items": _items,
    "prefixItems": _prefix_items,
    "additionalItems": _additional_items,
    "contains": _contains,
    "unevaluatedItems": _unevaluated_items,
    "uniqueItems": _unique_items,
    "minItems": _min_items,
    "maxItems": _max_items,
}
"""For each keyword, a function that makes its check."""

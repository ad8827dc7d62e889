"""The differences of two object schemas.

The content model of an object schema says what properties without a schema of their own may be:

| model | additionalProperties |
|---|---|
| open | absent or true, without `patternProperties`; any value |
| partially open | a schema, or `patternProperties`: values of these schemas |
| closed | false: there are no such properties |

A property that a schema adds is judged by the model of the writer, because values may already hold
it. A property that a schema drops is judged by the model of the reader.

Source: the rules of Confluent's registry.
"""

from duolog.schemas.json_schema import patterns
from duolog.schemas.json_schema.compatibility.bounds import compare_bounds
from duolog.schemas.json_schema.compatibility.order import hash_order
from duolog.schemas.json_schema.compatibility.steps import Context, Found, Schema, Steps
from duolog.schemas.json_schema.shapes import AnyShape, NoShape, ObjectShape, SchemaAt

_PATTERN_STEPS = 500
"""Steps for a search in a name: the first one compiles the expression, in milliseconds."""


def compare_objects(context: Context, original: ObjectShape, update: ObjectShape) -> Steps:
    """Compare two object schemas."""
    found = context.found()
    _compare_required(found, original, update)
    for name in hash_order(original.properties, update.properties):
        yield from _compare_property(context, found, original, update, name)
    yield from _compare_dependencies(found, original, update)
    yield from _compare_additional(found, original, update)
    yield from compare_unevaluated(
        found, original.unevaluated, update.unevaluated, "unevaluatedProperties"
    )
    compare_bounds(found, original.bounds, update.bounds, "maxProperties", "minProperties")
    return found.differences


def compare_unevaluated(
    found: Found, original: SchemaAt | None, update: SchemaAt | None, keyword: str
) -> Steps:
    """Compare `unevaluatedProperties` or `unevaluatedItems`."""
    prefix = "UNEVALUATED_PROPERTIES" if keyword.endswith("Properties") else "UNEVALUATED_ITEMS"
    left = None if original is None else original.shape()
    right = None if update is None else update.shape()
    was_closed, is_closed = isinstance(left, NoShape), isinstance(right, NoShape)
    was_open, is_open = isinstance(left, AnyShape), isinstance(right, AnyShape)
    if left is None and right is None:
        return found.differences
    if was_closed is not is_closed:
        found.add(f"{prefix}_{'ADDED' if was_closed else 'REMOVED'}", keyword)
    elif left is None or (right is not None and was_open and not is_open):
        found.add(f"{prefix}_NARROWED", keyword)
    elif right is None or (is_open and not was_open):
        found.add(f"{prefix}_EXTENDED", keyword)
    else:
        found.extend((yield original, update), keyword)
    return found.differences


def _compare_required(found: Found, original: ObjectShape, update: ObjectShape) -> None:
    for name in hash_order(original.properties):
        if name not in update.properties:
            continue
        step = f"required/{name}"
        was, now = name in original.required, name in update.required
        if was and not now:
            found.add("REQUIRED_ATTRIBUTE_REMOVED", step)
        elif now and not was:
            default = "WITH_DEFAULT_" if _has_default(update.properties[name]) else ""
            found.add(f"REQUIRED_ATTRIBUTE_{default}ADDED", step)


def _compare_property(
    context: Context, found: Found, original: ObjectShape, update: ObjectShape, name: str
) -> Steps:
    old, new = original.properties.get(name), update.properties.get(name)
    if old is not None and new is not None:
        found.extend((yield old, new), f"properties/{name}")
    elif old is not None:
        yield from _compare_removed(context, found, old, update, name)
    elif new is not None:
        yield from _compare_added(context, found, original, update, name)
    return found.differences


def _compare_removed(
    context: Context, found: Found, removed: SchemaAt, update: ObjectShape, name: str
) -> Steps:
    step = f"properties/{name}"
    if _is_open(update):
        found.add("PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL", step)
        return found.differences
    cover = _cover(context, update, name)
    if cover is None:
        closed = "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"
        nothing = "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL"
        found.add(nothing if isinstance(removed.shape(), NoShape) else closed, step)
        return found.differences
    below = yield removed, cover
    found.extend(below, step)
    covered = "IS" if context.compatible(below) else "NOT"
    found.add(f"PROPERTY_REMOVED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", step)
    return found.differences


def _compare_added(
    context: Context, found: Found, original: ObjectShape, update: ObjectShape, name: str
) -> Steps:
    step = f"properties/{name}"
    added = update.properties[name]
    required = name in update.required
    with_default = "WITH_DEFAULT_" if _has_default(added) else ""
    if _is_open(original):
        if isinstance(added.shape(), AnyShape):
            found.add("PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL", step)
        elif required:
            found.add(f"REQUIRED_PROPERTY_{with_default}ADDED_TO_OPEN_CONTENT_MODEL", step)
        else:
            found.add("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", step)
        return found.differences
    cover = _cover(context, original, name)
    if cover is not None:
        below = yield cover, added
        found.extend(below, step)
        covered = "IS" if context.compatible(below) else "NOT"
        found.add(f"PROPERTY_ADDED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", step)
    if required:
        found.add(f"REQUIRED_PROPERTY_{with_default}ADDED_TO_UNOPEN_CONTENT_MODEL", step)
    else:
        found.add("OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", step)
    return found.differences


def _compare_dependencies(found: Found, original: ObjectShape, update: ObjectShape) -> Steps:
    for name in hash_order(original.property_dependencies, update.property_dependencies):
        change = _list_change(
            original.property_dependencies.get(name), update.property_dependencies.get(name)
        )
        if change:
            found.add(f"DEPENDENCY_ARRAY_{change}", f"dependencies/{name}")
    for name in hash_order(original.schema_dependencies, update.schema_dependencies):
        old, new = original.schema_dependencies.get(name), update.schema_dependencies.get(name)
        step = f"dependencies/{name}"
        if new is None:
            found.add("DEPENDENCY_SCHEMA_REMOVED", step)
        elif old is None:
            found.add("DEPENDENCY_SCHEMA_ADDED", step)
        else:
            found.extend((yield old, new), step)
    return found.differences


def _list_change(original: frozenset[str] | None, update: frozenset[str] | None) -> str:
    if update is None:
        return "REMOVED"
    if original is None:
        return "ADDED"
    if original == update:
        return ""
    if original <= update:
        return "EXTENDED"
    return "NARROWED" if update <= original else "CHANGED"


def _compare_additional(found: Found, original: ObjectShape, update: ObjectShape) -> Steps:
    step = "additionalProperties"
    old, new = original.additional, update.additional
    if (old is False) is not (new is False):
        found.add(f"ADDITIONAL_PROPERTIES_{'ADDED' if old is False else 'REMOVED'}", step)
    elif isinstance(old, bool) and not isinstance(new, bool):
        found.add("ADDITIONAL_PROPERTIES_NARROWED", step)
    elif isinstance(new, bool) and not isinstance(old, bool):
        found.add("ADDITIONAL_PROPERTIES_EXTENDED", step)
    elif not isinstance(old, bool) and not isinstance(new, bool):
        found.extend((yield old, new), step)
    return found.differences


def _is_open(shape: ObjectShape) -> bool:
    if shape.additional is not True or shape.patterns:
        return False
    return shape.unevaluated is None or isinstance(shape.unevaluated.shape(), AnyShape)


def _cover(context: Context, shape: ObjectShape, name: str) -> Schema | None:
    """Return the schema of a property without one of its own; None if the model is closed."""
    for expression, schema in shape.patterns.items():
        context.budget.spend(_PATTERN_STEPS)
        if patterns.small_pattern(expression).found_in(name):
            return schema
    if isinstance(shape.additional, SchemaAt):
        return shape.additional
    if shape.additional is False or shape.unevaluated is None:
        return None
    everything_or_nothing = isinstance(shape.unevaluated.shape(), AnyShape | NoShape)
    return None if everything_or_nothing else shape.unevaluated


def _has_default(schema: SchemaAt) -> bool:
    return schema.shape().default is not None

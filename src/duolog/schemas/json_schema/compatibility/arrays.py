"""The differences of two array schemas. Their content models are as those of objects.

Source: the rules of Confluent's registry.
"""

from duolog.schemas.json_schema.compatibility.bounds import compare_bounds
from duolog.schemas.json_schema.compatibility.objects import compare_unevaluated
from duolog.schemas.json_schema.compatibility.steps import Context, Found, Steps
from duolog.schemas.json_schema.shapes import AnyShape, ArrayShape, NoShape, SchemaAt


def compare_arrays(context: Context, original: ArrayShape, update: ArrayShape) -> Steps:
    """Compare two array schemas."""
    found = context.found()
    found.extend((yield original.every, update.every), "items")
    shared = min(len(original.items), len(update.items))
    for place in range(shared):
        found.extend((yield original.items[place], update.items[place]), f"items/{place}")
    for place, removed in enumerate(original.items[shared:], start=shared):
        yield from _compare_removed(context, found, removed, update, f"items/{place}")
    for place, added in enumerate(update.items[shared:], start=shared):
        yield from _compare_added(context, found, original, added, f"items/{place}")
    yield from _compare_additional(found, original, update)
    yield from compare_unevaluated(
        found, original.unevaluated, update.unevaluated, "unevaluatedItems"
    )
    compare_bounds(found, original.bounds, update.bounds, "maxItems", "minItems")
    if original.unique != update.unique:
        found.add(f"UNIQUE_ITEMS_{'REMOVED' if original.unique else 'ADDED'}", "uniqueItems")
    compare_bounds(found, original.bounds, update.bounds, "maxContains", "minContains")
    return found.differences


def _compare_removed(
    context: Context, found: Found, removed: SchemaAt, update: ArrayShape, step: str
) -> Steps:
    if _is_open(update):
        found.add("ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL", step)
        return found.differences
    cover = _cover(update)
    if cover is None:
        closed = "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL"
        nothing = "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL"
        found.add(nothing if isinstance(removed.shape(), NoShape) else closed, step)
        return found.differences
    below = yield removed, cover
    found.extend(below, step)
    covered = "IS" if context.compatible(below) else "NOT"
    found.add(f"ITEM_REMOVED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", step)
    return found.differences


def _compare_added(
    context: Context, found: Found, original: ArrayShape, added: SchemaAt, step: str
) -> Steps:
    if _is_open(original):
        anything = "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL"
        restricted = "ITEM_ADDED_TO_OPEN_CONTENT_MODEL"
        found.add(anything if isinstance(added.shape(), AnyShape) else restricted, step)
        return found.differences
    cover = _cover(original)
    if cover is None:
        found.add("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", step)
        return found.differences
    below = yield cover, added
    found.extend(below, step)
    covered = "IS" if context.compatible(below) else "NOT"
    found.add(f"ITEM_ADDED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", step)
    return found.differences


def _compare_additional(found: Found, original: ArrayShape, update: ArrayShape) -> Steps:
    step = "additionalItems"
    old, new = original.additional, update.additional
    if (old is False) is not (new is False):
        found.add(f"ADDITIONAL_ITEMS_{'ADDED' if old is False else 'REMOVED'}", step)
    elif isinstance(old, bool) and not isinstance(new, bool):
        found.add("ADDITIONAL_ITEMS_NARROWED", step)
    elif isinstance(new, bool) and not isinstance(old, bool):
        found.add("ADDITIONAL_ITEMS_EXTENDED", step)
    elif not isinstance(old, bool) and not isinstance(new, bool):
        found.extend((yield old, new), step)
    return found.differences


def _is_open(shape: ArrayShape) -> bool:
    if shape.additional is not True:
        return False
    return shape.unevaluated is None or isinstance(shape.unevaluated.shape(), AnyShape)


def _cover(shape: ArrayShape) -> SchemaAt | None:
    """Return the schema of an item without one of its own; None if the model is closed."""
    if isinstance(shape.additional, SchemaAt):
        return shape.additional
    if shape.additional is False or shape.unevaluated is None:
        return None
    everything_or_nothing = isinstance(shape.unevaluated.shape(), AnyShape | NoShape)
    return None if everything_or_nothing else shape.unevaluated

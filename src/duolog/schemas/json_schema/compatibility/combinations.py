"""The differences of two combinations: allOf, anyOf and oneOf, and lists of types.

Each branch of the smaller combination must have a branch of its own in the other one.

Source: the rules of Confluent's registry.
"""

from collections.abc import Generator
from operator import itemgetter

from duolog.schemas.json_schema.compatibility.matching import Matching
from duolog.schemas.json_schema.compatibility.steps import (
    Context,
    Differences,
    Pair,
    Schema,
    Steps,
)
from duolog.schemas.json_schema.shapes import CombinedShape, NumberShape, SchemaAt, Shape


def compare_combinations(context: Context, original: CombinedShape, update: CombinedShape) -> Steps:
    """Compare two combinations."""
    found = context.found()
    change = _criterion_change(original, update)
    if change:
        found.add(f"COMBINED_TYPE_{change}")
    if change == "CHANGED":
        return found.differences
    old, new = _distinct(original), _distinct(update)
    if len(old) < len(new):
        found.add("PRODUCT_TYPE_EXTENDED" if update.criterion == "allOf" else "SUM_TYPE_EXTENDED")
    elif len(old) > len(new):
        narrowed = original.criterion in {"anyOf", "oneOf"}
        found.add("SUM_TYPE_NARROWED" if narrowed else "PRODUCT_TYPE_NARROWED")
    texts = [text for _, text in old], [text for _, text in new]
    matching = Matching(context, list(old.values()), list(new.values()), texts)
    matched = yield from matching.run()
    for place, _, below in sorted(matched, key=itemgetter(0)):
        found.extend(below, f"{original.criterion}/{place}")
    if len(matched) < min(len(old), len(new)):
        found.add("COMBINED_TYPE_SUBSCHEMAS_CHANGED")
    return found.differences


def compare_with_one_branch(
    context: Context, original: Shape, update: Shape
) -> Generator[Pair, Differences, Differences | None]:
    """Compare a combination with a schema that is none; None if no branch is compatible.

    - The reader has a combination: one branch of anyOf or oneOf accepts what the writer wrote.
    - The writer has one: one branch of allOf is enough for the reader.
    """
    if isinstance(update, CombinedShape):
        kind, enough = "SUM_TYPE_EXTENDED", update.criterion != "allOf"
        pairs: list[Pair] = [(original, part) for part in update.branches()]
    else:
        assert isinstance(original, CombinedShape)
        kind, enough = "PRODUCT_TYPE_NARROWED", original.criterion == "allOf"
        pairs = [(part, update) for part in original.branches()]
    for pair in pairs if enough or len(pairs) == 1 else []:
        below = yield pair
        if context.compatible(below):
            found = context.found()
            found.extend(below)
            if len(pairs) > 1:
                found.add(kind)
            return found.differences
    return None


def _criterion_change(original: CombinedShape, update: CombinedShape) -> str:
    old, new = original.criterion, update.criterion
    if old == new:
        return ""
    old_single, new_single = len(original.branches()) == 1, len(update.branches()) == 1
    extended = (
        new == "anyOf"
        or (old_single and new_single)
        or (old_single and new == "oneOf")
        or (new_single and old == "allOf")
    )
    return "EXTENDED" if extended else "CHANGED"


def _distinct(shape: CombinedShape) -> dict[tuple[int, bytes], Schema]:
    """Return the branches by resource and text, without those that repeat another one."""
    distinct: dict[tuple[int, bytes], Schema] = {}
    for part in shape.branches():
        if isinstance(part, SchemaAt):
            text = part.shapes.digest(part.node)
        else:  # A type in a list, or a part of one schema: each kind occurs once.
            integer = isinstance(part, NumberShape) and part.integer
            text = 0, f"{type(part).__name__} {integer}".encode()
        distinct.setdefault(text, part)
    return distinct

"""The rule for two shapes of any kind.

Source: the rules of Confluent's registry.
"""

from duolog.schemas.json_schema.compatibility.arrays import compare_arrays
from duolog.schemas.json_schema.compatibility.bounds import compare_numbers, compare_strings
from duolog.schemas.json_schema.compatibility.combinations import (
    compare_combinations,
    compare_with_one_branch,
)
from duolog.schemas.json_schema.compatibility.kinds import Difference
from duolog.schemas.json_schema.compatibility.objects import compare_objects
from duolog.schemas.json_schema.compatibility.steps import Context, Found, Steps
from duolog.schemas.json_schema.json_text import comparable
from duolog.schemas.json_schema.shapes import (
    AnyShape,
    ArrayShape,
    CombinedShape,
    ConstShape,
    EnumShape,
    NoShape,
    NotShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)


def compare(context: Context, original: Shape, update: Shape) -> Steps:
    """Compare two shapes, neither of which is a reference."""
    if isinstance(original, CombinedShape) is not isinstance(update, CombinedShape):
        differences = yield from compare_with_one_branch(context, original, update)
        if differences is not None:
            return differences
    if type(original) is not type(update):
        return _compare_kinds(original, update)
    found = context.found()
    _compare_annotations(found, original, update)
    match original, update:
        case StringShape(), StringShape():
            compare_strings(found, original, update)
        case NumberShape(), NumberShape():
            compare_numbers(found, original, update)
        case ConstShape(), ConstShape():
            if comparable(original.value) != comparable(update.value):
                found.add("ENUM_ARRAY_CHANGED", "const")
        case EnumShape(), EnumShape():
            _compare_enums(found, original, update)
        case CombinedShape(), CombinedShape():
            found.extend((yield from compare_combinations(context, original, update)))
        case NotShape(), NotShape():
            # What is refused is compared the other way round.
            below = yield update.refused, original.refused
            found.add(f"NOT_TYPE_{'NARROWED' if context.compatible(below) else 'EXTENDED'}", "not")
        case ObjectShape(), ObjectShape():
            found.extend((yield from compare_objects(context, original, update)))
        case ArrayShape(), ArrayShape():
            found.extend((yield from compare_arrays(context, original, update)))
    return found.differences


def _compare_kinds(original: Shape, update: Shape) -> list[Difference]:
    if isinstance(original, NoShape) or isinstance(update, AnyShape):
        return []
    if original.connect_type == update.connect_type == "bytes":
        # Kafka Connect changed its form of decimals from strings to numbers.
        return []
    return [Difference("TYPE_CHANGED")]


def _compare_annotations(found: Found, original: Shape, update: Shape) -> None:
    for kind, old, new in (
        ("ID_CHANGED", original.id, update.id),
        ("TITLE_CHANGED", original.title, update.title),
        ("DESCRIPTION_CHANGED", original.description, update.description),
        ("DEFAULT_CHANGED", original.default, update.default),
    ):
        if old != new:
            found.add(kind)


def _compare_enums(found: Found, original: EnumShape, update: EnumShape) -> None:
    old = {comparable(value) for value in original.values}
    new = {comparable(value) for value in update.values}
    if old != new:
        change = "EXTENDED" if old <= new else "NARROWED" if new <= old else "CHANGED"
        found.add(f"ENUM_ARRAY_{change}", "enum")

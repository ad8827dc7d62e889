"""The differences of bounds, expressions and factors."""

from collections.abc import Mapping
from fractions import Fraction

from duolog.schemas.json_schema.compatibility.steps import Found
from duolog.schemas.json_schema.shapes import Number, NumberShape, StringShape

_KINDS = {
    "maxLength": "MAX_LENGTH",
    "minLength": "MIN_LENGTH",
    "maximum": "MAXIMUM",
    "minimum": "MINIMUM",
    "exclusiveMaximum": "EXCLUSIVE_MAXIMUM",
    "exclusiveMinimum": "EXCLUSIVE_MINIMUM",
    "maxProperties": "MAX_PROPERTIES",
    "minProperties": "MIN_PROPERTIES",
    "maxItems": "MAX_ITEMS",
    "minItems": "MIN_ITEMS",
    "maxContains": "MAX_CONTAINS",
    "minContains": "MIN_CONTAINS",
}


def compare_bounds(
    found: Found, original: Mapping[str, Number], update: Mapping[str, Number], *keywords: str
) -> None:
    """Add the differences of some keywords with numbers."""
    for keyword in keywords:
        change = _change(original.get(keyword), update.get(keyword))
        if change:
            found.add(f"{_KINDS[keyword]}_{change}", keyword)


def compare_strings(found: Found, original: StringShape, update: StringShape) -> None:
    """Add the differences of two string schemas."""
    compare_bounds(found, original.bounds, update.bounds, "maxLength", "minLength")
    if original.pattern != update.pattern:
        change = (
            "ADDED" if original.pattern is None
            else "REMOVED" if update.pattern is None
            else "CHANGED"
        )  # fmt: skip
        found.add(f"PATTERN_{change}", "pattern")


def compare_numbers(found: Found, original: NumberShape, update: NumberShape) -> None:
    """Add the differences of two number schemas."""
    compare_bounds(
        found, original.bounds, update.bounds,
        "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum",
    )  # fmt: skip
    if original.multiple_of != update.multiple_of:
        found.add(
            f"MULTIPLE_OF_{_factor_change(original.multiple_of, update.multiple_of)}", "multipleOf"
        )
    if original.integer != update.integer:
        found.add("TYPE_EXTENDED" if original.integer else "TYPE_NARROWED")


def _change(original: Number | None, update: Number | None) -> str:
    if original == update:
        return ""
    if original is None:
        return "ADDED"
    if update is None:
        return "REMOVED"
    return "INCREASED" if original < update else "DECREASED"


def _factor_change(original: Number | None, update: Number | None) -> str:
    if original is None:
        return "ADDED"
    if update is None:
        return "REMOVED"
    # Not by `%`: a Decimal rounds to 28 digits.
    old, new = Fraction(original), Fraction(update)
    if old and (new / old).denominator == 1:
        return "EXPANDED"
    if new and (old / new).denominator == 1:
        return "REDUCED"
    return "CHANGED"

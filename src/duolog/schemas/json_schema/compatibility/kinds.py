"""The kinds of differences between two JSON Schemas.

A kind has a name and a sentence, which clients see. It is compatible or not under a policy.

Source: the kinds that Confluent's registry reports.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from duolog.schemas.schema import Incompatibility, Policy

PATH_CHARACTERS_MAX: Final = 10_000

Steps: TypeAlias = "tuple[str, Steps | None]"


class Accepted(Enum):
    """When a reader accepts a kind of difference."""

    ALWAYS = auto()
    LENIENT = auto()
    NEVER = auto()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of difference: when it is accepted, and the sentence about it."""

    accepted: Accepted
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """One difference.

    Attributes:
        kind: the name of its kind.
        steps: the way to its place: the first step, and the way from there.
    """

    kind: str
    steps: "Steps | None" = None

    @property
    def path(self) -> str:
        """The JSON pointer of the place, cut if it is very long."""
        steps, left = self.steps, PATH_CHARACTERS_MAX
        path = ["#/"] if steps is None else ["#"]
        while steps is not None and left > 0:
            step, steps = steps
            path.append(step[:left])
            left -= len(step)
        return "/".join(path)

    def below(self, step: str) -> "Difference":
        """Return the difference as seen from the schema above, one step further up."""
        return Difference(self.kind, (step, self.steps))

    def compatible(self, policy: Policy) -> bool:
        accepted = KINDS[self.kind].accepted
        return accepted is Accepted.ALWAYS or (
            accepted is Accepted.LENIENT and policy is Policy.LENIENT
        )

    def described(self) -> Incompatibility:
        """Return the difference as clients see it."""
        return Incompatibility(self.kind, KINDS[self.kind].sentence.replace("{path}", self.path))


_KEYWORD = (
    "The keyword at path '{path}' in the {reader} schema is not present in the {writer} schema"
)
_MORE = (
    "The value at path '{path}' in the {reader} schema is more than its value in the {writer} "
    "schema"
)
_LESS = (
    "The value at path '{path}' in the {reader} schema is less than its value in the {writer} "
    "schema"
)
_VALUE = "The value at path '{path}' is different between the {reader} and {writer} schema"
_FEWER = (
    "An array or combined type at path '{path}' has fewer elements in the {reader} schema "
    "than the {writer} schema"
)
_FURTHER = (
    "An array or combined type at path '{path}' has more elements in the {reader} schema "
    "than the {writer} schema"
)
_TYPE = "A type at path '{path}' is different between the {reader} schema and the {writer} schema"
_OPEN = (
    "The {reader} schema has an open content model and has a property or item at path '{path}' "
    "which is missing in the {writer} schema"
)
_REQUIRED = (
    "The {reader} schema has an unopen content model and has a required property at path '{path}' "
    "which is missing in the {writer} schema"
)
_CLOSED = (
    "The {reader} has a closed content model and is missing a property or item present at path "
    "'{path}' in the {writer} schema"
)
_REMOVED = (
    "A property or item is missing in the {reader} schema but present at path '{path}' in the "
    "{writer} schema and is not covered by its partially open content model"
)
_ADDED = (
    "The {reader} schema has a property or item at path '{path}' which is missing in the {writer} "
    "schema and is not covered by its partially open content model"
)
_RESERVED = (
    "The {reader} schema has reserved property '{path}' removed from its metadata which is "
    "present in the {writer} schema."
)
_CONFLICT = (
    "The {reader} schema has property at path '{path}' that conflicts with the reserved "
    "properties which is missing in the {writer} schema."
)

_A, _L, _N = Accepted.ALWAYS, Accepted.LENIENT, Accepted.NEVER
_BOUNDED: Final = ("LENGTH", "IMUM", "PROPERTIES", "ITEMS", "CONTAINS")


def _bounds() -> dict[str, Kind]:
    """Return the kinds of an upper and a lower bound, such as `MAX_ITEMS_ADDED`."""
    kinds: dict[str, Kind] = {}
    for bound in _BOUNDED:
        names = ("{}IMUM", "EXCLUSIVE_{}IMUM") if bound == "IMUM" else (f"{{}}_{bound}",)
        for name in names:
            upper, lower = name.format("MAX"), name.format("MIN")
            for each in (upper, lower):
                kinds[f"{each}_ADDED"] = Kind(_N, _KEYWORD)
                kinds[f"{each}_REMOVED"] = Kind(_A, "")
            kinds[f"{upper}_INCREASED"] = kinds[f"{lower}_DECREASED"] = Kind(_A, "")
            kinds[f"{upper}_DECREASED"] = Kind(_N, _LESS)
            kinds[f"{lower}_INCREASED"] = Kind(_N, _MORE)
    return kinds


_ROWS: Final = (
    (_A, "", "ID_CHANGED DESCRIPTION_CHANGED TITLE_CHANGED DEFAULT_CHANGED"),
    (_N, "", "SCHEMA_ADDED"),
    (_A, "", "SCHEMA_REMOVED TYPE_EXTENDED"),
    (_N, _TYPE, "TYPE_NARROWED TYPE_CHANGED"),
    (_N, _KEYWORD, "PATTERN_ADDED"),
    (_A, "", "PATTERN_REMOVED"),
    (_N, _VALUE, "PATTERN_CHANGED"),
    (_N, _KEYWORD, "MULTIPLE_OF_ADDED"),
    (_A, "", "MULTIPLE_OF_REMOVED MULTIPLE_OF_REDUCED"),
    (_N, _MORE, "MULTIPLE_OF_EXPANDED"),
    (_N, _VALUE, "MULTIPLE_OF_CHANGED"),
    (_N, _KEYWORD, "REQUIRED_ATTRIBUTE_ADDED"),
    (_A, "", "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED REQUIRED_ATTRIBUTE_REMOVED"),
    (_A, "", "ADDITIONAL_PROPERTIES_ADDED ADDITIONAL_PROPERTIES_EXTENDED"),
    (_L, _KEYWORD, "ADDITIONAL_PROPERTIES_REMOVED UNEVALUATED_PROPERTIES_REMOVED"),
    (_L, _FEWER, "ADDITIONAL_PROPERTIES_NARROWED UNEVALUATED_PROPERTIES_NARROWED"),
    (_A, "", "UNEVALUATED_PROPERTIES_ADDED UNEVALUATED_PROPERTIES_EXTENDED"),
    (_N, _KEYWORD, "DEPENDENCY_ARRAY_ADDED DEPENDENCY_SCHEMA_ADDED"),
    (_A, "", "DEPENDENCY_ARRAY_REMOVED DEPENDENCY_ARRAY_NARROWED DEPENDENCY_SCHEMA_REMOVED"),
    (_N, _FURTHER, "DEPENDENCY_ARRAY_EXTENDED"),
    (_N, _VALUE, "DEPENDENCY_ARRAY_CHANGED"),
    (_N, _OPEN, "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
    (_L, _OPEN, "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL"),
    (_L, _OPEN, "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
    (_A, "", "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL"),
    (_N, _REQUIRED, "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"),
    (_A, "", "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL"),
    (_A, "", "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"),
    (_A, "", "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL"),
    (_A, "", "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
    (_L, _CLOSED, "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
    (_A, "", "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_L, _REMOVED, "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_A, "", "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_L, _ADDED, "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_N, _RESERVED, "RESERVED_PROPERTY_REMOVED"),
    (_N, _CONFLICT, "RESERVED_PROPERTY_CONFLICTS_WITH_PROPERTY"),
    (_N, _KEYWORD, "UNIQUE_ITEMS_ADDED ADDITIONAL_ITEMS_REMOVED UNEVALUATED_ITEMS_REMOVED"),
    (_A, "", "UNIQUE_ITEMS_REMOVED ADDITIONAL_ITEMS_ADDED ADDITIONAL_ITEMS_EXTENDED"),
    (_A, "", "UNEVALUATED_ITEMS_ADDED UNEVALUATED_ITEMS_EXTENDED"),
    (_N, _FEWER, "ADDITIONAL_ITEMS_NARROWED UNEVALUATED_ITEMS_NARROWED"),
    (_N, _OPEN, "ITEM_ADDED_TO_OPEN_CONTENT_MODEL"),
    (_A, "", "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL"),
    (_A, "", "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL"),
    (_A, "", "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
    (_N, _CLOSED, "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
    (_A, "", "ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_N, _REMOVED, "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_A, "", "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_N, _ADDED, "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    (_A, "", "ENUM_ARRAY_EXTENDED"),
    (_N, _FEWER, "ENUM_ARRAY_NARROWED SUM_TYPE_NARROWED"),
    (_N, _TYPE, "ENUM_ARRAY_CHANGED COMBINED_TYPE_CHANGED COMBINED_TYPE_SUBSCHEMAS_CHANGED"),
    (_A, "", "COMBINED_TYPE_EXTENDED PRODUCT_TYPE_NARROWED"),
    (_N, _FURTHER, "PRODUCT_TYPE_EXTENDED"),
    (_A, _FURTHER, "SUM_TYPE_EXTENDED"),
    (_N, _FURTHER, "NOT_TYPE_EXTENDED"),
    (_A, "", "NOT_TYPE_NARROWED"),
)

KINDS: Final = _bounds() | {
    name: Kind(accepted, sentence) for accepted, sentence, names in _ROWS for name in names.split()
}
"""Every kind by its name."""

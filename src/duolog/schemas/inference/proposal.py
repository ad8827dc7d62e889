"""Propose a shape for observed values.

    integers               int if all fit 32 bits, else long; double beyond 64 bits
    integers and fractions double
    null, or not there     T | None, with the default None
    several types          a union
    objects                a class; a map if the names of fields vary like keys
    texts like dates, …    texts; with `logical`, the types that they look like

Names of fields that vary like keys are numbers, dates or UUIDs, or there are many of which each is
in few objects; and all values are of one type.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from duolog.core.types import DECIMAL_PRECISION_MAX
from duolog.schemas.classes.shapes import (
    NO_DEFAULT,
    DecimalOf,
    FieldOf,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    UnionOf,
    called,
)
from duolog.schemas.inference.observed import Observed
from duolog.schemas.inference.texts import look_of

_KEY: Final = re.compile(r"-?\d+|[0-9a-fA-F]{16,}")
_NAMES_MIN: Final = 8
"""Fewer names than this are fields, unless all of them are numbers, dates or UUIDs."""
_SHARE_MAX: Final = 0.5
"""Names are keys if they are in less than this share of the objects on average."""
_TEXT_DEFAULT: Final = "no value was seen; a text is assumed"


@dataclass(frozen=True, slots=True)
class FieldFact:
    """The evidence for the type of a field.

    Attributes:
        records: how many values the field had, without nulls.
        of: how many objects could have had it.
        nulls: how many values were null.
        note: a remark for people; empty if there is none.
    """

    path: str
    type: str
    records: int
    of: int
    nulls: int
    note: str


def propose(
    root: Observed, name: str, *, logical: bool = False, nullable_lists: bool = True
) -> tuple[RecordOf, list[FieldFact]]:
    """Return the shape of observed objects, and what supports each of its fields.

    Args:
        root: the values of the records; only those that are objects count.
        name: the name of the record.
        logical: True to give texts that look like dates, times and UUIDs their types.
        nullable_lists: False if a list or map cannot be None; one that is missing is then empty.
    """
    proposal = _Proposal(logical=logical, nullable_lists=nullable_lists)
    shape = proposal.record(root, name, "")
    return shape, proposal.facts


class _Proposal:
    def __init__(self, *, logical: bool, nullable_lists: bool) -> None:
        self._logical = logical
        self._nullable_lists = nullable_lists
        self._names: set[str] = set()
        self.facts: list[FieldFact] = []

    def record(self, seen: Observed, name: str, path: str) -> RecordOf:
        """Return the shape of a class for observed objects."""
        found = _record_named(self._free(name))
        for key, one in seen.fields.items():
            below = f"{path}.{key}" if path else key
            place = len(self.facts)
            shape, note = self._shape(one, f"{name}_{key}", below)
            missing = seen.objects - one.values
            default: object = NO_DEFAULT
            can_be_null = self._nullable_lists or not isinstance(shape, ListOf | MapOf)
            if (one.nulls or missing) and can_be_null:
                shape, default = _optional(shape), None
            fact = FieldFact(
                below, called(shape), one.values - one.nulls, seen.objects, one.nulls, note
            )
            self.facts.insert(place, fact)
            found.fields.append(FieldOf(key, key, shape, default, note or None))
        return found

    def _free(self, name: str) -> str:
        name = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", name))
        name = name if name and not name[0].isdigit() else f"Record{name}"
        free, number = name, 2
        while free in self._names:
            free, number = f"{name}{number}", number + 1
        self._names.add(free)
        return free

    def _shape(self, seen: Observed, name: str, path: str) -> tuple[Shape, str]:
        """Return the type of values that are not null, and a remark."""
        branches: list[Shape] = []
        notes: list[str] = []
        for shape, note in (self._number(seen), self._text(seen)):
            branches += [] if shape is None else [shape]
            notes += [note] if note else []
        others = (Scalar.BOOLEAN, Scalar.BYTES, Scalar.DATE, Scalar.TIME, Scalar.DATETIME)
        branches += [kind for kind in (*others, Scalar.UUID) if seen.scalars[kind]]
        if seen.arrays:
            assert seen.items is not None
            item, note = self._shape(seen.items, name, f"{path}[]")
            branches.append(ListOf(_optional(item) if seen.items.nulls else item, list))
            notes += [f"items: {note}"] if note else []
        if seen.objects:
            branches.append(self._object(seen, name, path))
        distinct = tuple(dict.fromkeys(branches))
        if not distinct:
            return Scalar.TEXT, _TEXT_DEFAULT
        if len(distinct) > 1:
            notes.append("has values of several types")
            return UnionOf(distinct, nullable=False), "; ".join(notes)
        return distinct[0], "; ".join(notes)

    def _number(self, seen: Observed) -> tuple[Shape | None, str]:
        before, after = seen.digits
        integers, fractions = seen.scalars[Scalar.LONG], seen.scalars[Scalar.DOUBLE]
        if seen.decimals and not fractions and not integers:
            before = max(1, before)
            if before + after <= DECIMAL_PRECISION_MAX:
                return DecimalOf(before + after, after), ""
        if fractions or seen.decimals:
            return Scalar.DOUBLE, ""
        if not integers:
            return None, ""
        if seen.least >= -(2**31) and seen.most < 2**31:
            return Scalar.INT, ""
        if seen.least >= -(2**63) and seen.most < 2**63:
            return Scalar.LONG, ""
        return Scalar.DOUBLE, "has integers of more than 64 bits"

    def _text(self, seen: Observed) -> tuple[Shape | None, str]:
        texts = seen.scalars[Scalar.TEXT]
        if not texts:
            return None, ""
        look = next((kind for kind, count in seen.looks.items() if count == texts), None)
        if look is None:
            return Scalar.TEXT, ""
        return (look, "") if self._logical else (Scalar.TEXT, f"looks like a {look.value}")

    def _object(self, seen: Observed, name: str, path: str) -> Shape:
        if not seen.fields:
            return MapOf(Scalar.TEXT, Scalar.TEXT)
        values = _values_of_map(seen)
        if values is None:
            return self.record(seen, name, path)
        value, _ = self._shape(values, name, f"{path}{{}}")
        return MapOf(Scalar.TEXT, _optional(value) if values.nulls else value)


def _values_of_map(seen: Observed) -> Observed | None:
    """Return the values of all fields if the names of the fields are keys; None otherwise."""
    names = list(seen.fields)
    like_keys = all(_KEY.fullmatch(name) or look_of(name) for name in names)
    share = sum(one.values for one in seen.fields.values()) / (len(names) * seen.objects)
    many = len(names) >= _NAMES_MIN and seen.objects > 1 and share < _SHARE_MAX
    if not like_keys and not many:
        return None
    merged = Observed()
    for one in seen.fields.values():
        merged.merge(one)
    numbers = {Scalar.LONG, Scalar.DOUBLE}
    kinds: set[object] = {"number" if kind in numbers else kind for kind in merged.scalars}
    kinds |= {"array"} if merged.arrays else set()
    kinds |= {"object"} if merged.objects else set()
    kinds |= {"decimal"} if merged.decimals else set()
    return merged if len(kinds) <= 1 else None


def _optional(shape: Shape) -> Shape:
    branches = shape.branches if isinstance(shape, UnionOf) else (shape,)
    return UnionOf(branches, nullable=True)


def _record_named(name: str) -> RecordOf:
    of = type(name, (), {"__doc__": None})

    def unused(_: Any) -> Mapping[str, Any]:
        raise AssertionError("a proposed class has no instances")

    return RecordOf(of, name, None, unused, unused)

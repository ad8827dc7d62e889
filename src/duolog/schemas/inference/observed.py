"""Observations of the values at one place of many records: kinds, ranges, fields, counts."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from duolog.schemas.classes.shapes import Scalar
from duolog.schemas.inference.texts import look_of

_DEPTH_MAX: Final = 64
_TYPES: Final[tuple[tuple[type, Scalar], ...]] = (
    (bool, Scalar.BOOLEAN),
    (int, Scalar.LONG),
    (float, Scalar.DOUBLE),
    (str, Scalar.TEXT),
    (bytes, Scalar.BYTES),
    (dt.datetime, Scalar.DATETIME),
    (dt.date, Scalar.DATE),
    (dt.time, Scalar.TIME),
    (uuid.UUID, Scalar.UUID),
)
"""Types of values by class; a class before those that it is derived from."""


class Observed:
    """The values at one place.

    Attributes:
        values: how many values there were, with nulls.
        nulls: how many of them were null.
        scalars: how many values were of each type.
        looks: how many texts looked like another type.
        least, most: the range of the integers.
        digits: the most digits of decimals before the point, and after it.
        arrays, items: how many values were arrays, and their elements.
        objects, fields: how many values were objects, and their fields.
    """

    def __init__(self, depth: int = 0) -> None:
        self.values = 0
        self.nulls = 0
        self.scalars: Counter[Scalar] = Counter()
        self.looks: Counter[Scalar] = Counter()
        self.least = self.most = 0
        self.decimals = 0
        self.digits = (0, 0)
        self.arrays = 0
        self.items: Observed | None = None
        self.objects = 0
        self.fields: dict[str, Observed] = {}
        self._depth = depth

    def add(self, value: object) -> None:
        """Count one value.

        Raises:
            ValueError: it is nested too deep.
        """
        if self._depth > _DEPTH_MAX:
            raise ValueError(f"the value is nested deeper than {_DEPTH_MAX} levels")
        self.values += 1
        match value:
            case None:
                self.nulls += 1
            case Mapping():
                self.objects += 1
                for name, one in value.items():
                    self._field(str(name)).add(one)
            case list() | tuple():
                self.arrays += 1
                self.items = self.items or Observed(self._depth + 1)
                for one in value:
                    self.items.add(one)
            case Decimal():
                self._add_decimal(value)
            case _:
                self._add_scalar(value)

    def merge(self, other: "Observed") -> None:
        """Count the values that another place has counted."""
        self.values += other.values
        self.nulls += other.nulls
        self.scalars.update(other.scalars)
        self.looks.update(other.looks)
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self.decimals += other.decimals
        before, after = self.digits
        self.digits = max(before, other.digits[0]), max(after, other.digits[1])
        self.arrays += other.arrays
        self.objects += other.objects
        if other.items is not None:
            self.items = self.items or Observed(self._depth + 1)
            self.items.merge(other.items)
        for name, one in other.fields.items():
            self._field(name).merge(one)

    def _field(self, name: str) -> "Observed":
        if name not in self.fields:
            self.fields[name] = Observed(self._depth + 1)
        return self.fields[name]

    def _add_decimal(self, value: Decimal) -> None:
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):  # NaN and infinities
            self.scalars[Scalar.DOUBLE] += 1
            return
        before, after = self.digits
        self.decimals += 1
        self.digits = max(before, len(digits) + exponent), max(after, -exponent)

    def _add_scalar(self, value: object) -> None:
        kind = next((kind for of, kind in _TYPES if isinstance(value, of)), Scalar.TEXT)
        self.scalars[kind] += 1
        if isinstance(value, int) and kind == Scalar.LONG:
            self.least, self.most = min(self.least, value), max(self.most, value)
        elif isinstance(value, str) and (look := look_of(value)) is not None:
            self.looks[look] += 1

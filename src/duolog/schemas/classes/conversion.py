"""Conversion of values by shape: one function for each type, made once.

Each language has a subclass for either direction. A class that contains itself is converted by one
function that calls itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from duolog.schemas.classes.shapes import (
    ChoiceOf,
    DecimalOf,
    FieldOf,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    UnionOf,
)

# Values are of the types that annotations name, which are unknown here.
Convert = Callable[[Any], Any]


class Conversion(ABC):
    """Functions that convert values of shapes."""

    def __init__(self) -> None:
        self._records: dict[int, Convert] = {}

    def of(self, shape: Shape, path: str) -> Convert:  # noqa: PLR0911 - a table of cases
        """Return the function for values of a type; `path` names it in errors."""
        match shape:
            case Scalar():
                return self.scalar(shape, path)
            case DecimalOf():
                return self.decimal(shape, path)
            case ChoiceOf():
                return self.choice(shape, path)
            case ListOf(item=item):
                return self.sequence(shape, self.of(item, f"{path}[]"), path)
            case MapOf(key=key, value=value):
                each = self.of(key, f"{path}{{key}}"), self.of(value, f"{path}{{}}")
                return self.mapping(shape, *each, path)
            case UnionOf():
                return self._union(shape, path)
            case RecordOf():
                return self._record(shape, path)

    def _union(self, shape: UnionOf, path: str) -> Convert:
        each = [self.of(branch, path) for branch in shape.branches]
        convert = each[0] if len(each) == 1 else self.union(shape, each, path)
        if not shape.nullable:
            return convert
        return lambda value: None if value is None else convert(value)

    def _record(self, shape: RecordOf, path: str) -> Convert:
        known = self._records.get(id(shape))
        if known is not None:
            return known
        # Until the function is complete, one that looks it up stands for it.
        self._records[id(shape)] = lambda value: self._records[id(shape)](value)  # noqa: PLW0108
        fields = [
            (field, self.of(field.shape, f"{path}.{field.attribute}" if path else field.attribute))
            for field in shape.fields
        ]
        found = self._records[id(shape)] = self.record(shape, fields, path)
        return found

    @abstractmethod
    def scalar(self, shape: Scalar, path: str) -> Convert: ...

    @abstractmethod
    def decimal(self, shape: DecimalOf, path: str) -> Convert: ...

    @abstractmethod
    def choice(self, shape: ChoiceOf, path: str) -> Convert: ...

    @abstractmethod
    def sequence(self, shape: ListOf, item: Convert, path: str) -> Convert: ...

    @abstractmethod
    def mapping(self, shape: MapOf, key: Convert, value: Convert, path: str) -> Convert: ...

    @abstractmethod
    def union(self, shape: UnionOf, each: Sequence[Convert], path: str) -> Convert:
        """Return the function for a union of several types; the value is not None."""

    @abstractmethod
    def record(
        self, shape: RecordOf, fields: Sequence[tuple[FieldOf, Convert]], path: str
    ) -> Convert: ...

"""Read Python annotations as shapes; refuse types that no schema can describe, with their path.

str       text           Decimal    decimal; Meta(precision=…, scale=…)
int       64 bits        datetime   microseconds, aware; date, time
float     double         UUID       text
bool      boolean        Enum       symbols; Literal["a", "b"]
bytes     bytes          list, tuple[T, ...], set, frozenset, dict
                         T | None, A | B, classes with fields
"""

import collections.abc
import datetime as dt
import types
import typing
import uuid
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Literal, Union

from duolog.core.types import DECIMAL_PRECISION_MAX
from duolog.schemas.classes import unions
from duolog.schemas.classes.classes import Member, doc_of, has_fields, members_of, meta_of
from duolog.schemas.classes.meta import NOTHING, Meta
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
    nullable,
)
from duolog.schemas.errors import InvalidSchemaError

_SCALARS: Final[dict[object, Scalar]] = {
    str: Scalar.TEXT,
    int: Scalar.LONG,
    float: Scalar.DOUBLE,
    bool: Scalar.BOOLEAN,
    bytes: Scalar.BYTES,
    dt.date: Scalar.DATE,
    dt.time: Scalar.TIME,
    dt.datetime: Scalar.DATETIME,
    uuid.UUID: Scalar.UUID,
}
_LISTS: Final[dict[object, type]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
}
_MAPS: Final = (dict, collections.abc.Mapping)
_KEYS: Final = (Scalar.TEXT, Scalar.LONG, Scalar.INT, Scalar.BOOLEAN)
_KNOWN: Final = (
    "Use str, int, float, bool, bytes, Decimal, datetime, date, time, UUID, an Enum, a Literal, "
    "list, tuple[T, ...], set, dict, or a class with fields."
)


def shape_of(of: type) -> RecordOf:
    """Return the shape of a class with fields.

    Raises:
        InvalidSchemaError: it is not such a class, or a schema cannot describe a field.
    """
    if not has_fields(of):
        raise InvalidSchemaError(
            f"{_shown(of)} is not a class that a schema can describe",
            hint="Use a dataclass, a TypedDict, a NamedTuple or a pydantic model.",
        )
    return _Reader(of).record(of, "")


def refused(of: type, path: str, why: str, hint: str = "") -> InvalidSchemaError:
    """Return the error for a field that a schema cannot describe."""
    return InvalidSchemaError(
        f'cannot make a schema of {of.__name__}: "{path or of.__name__}" {why}', hint=hint
    )


class _Reader:
    def __init__(self, root: type) -> None:
        self._root = root
        self._records: dict[type, RecordOf] = {}
        self._names: dict[str, object] = {}
        self._owner = ""

    def record(self, of: type, path: str) -> RecordOf:
        """Return the shape of a class; the same one each time."""
        if of in self._records:
            return self._records[of]
        meta, members, owner = meta_of(of), members_of(of), self._owner
        name = meta.name or of.__name__
        self._claim(name, of, path)
        found = RecordOf(
            of,
            name,
            meta.namespace,
            members.values,
            members.make,
            meta.doc or doc_of(of),
            meta.aliases,
        )
        self._records[of] = found
        seen: dict[str, str] = {}
        for one in members.fields:
            self._owner = f"{name}_{one.name}"
            field = self._field(one, f"{path}.{one.name}" if path else one.name)
            if seen.setdefault(field.name, one.name) != one.name:
                raise self._refused(path, f'has two fields with the name "{field.name}"')
            found.fields.append(field)
        self._owner = owner
        return found

    def _claim(self, name: str, of: object, path: str) -> None:
        if self._names.setdefault(name, of) is not of:
            raise self._refused(
                path,
                f'has the name "{name}", which is the name of another type',
                'Give one of them another name: __schema__ = Meta(name="…").',
            )

    def _field(self, member: Member, path: str) -> FieldOf:
        annotation, metadata = _split(member.annotation)
        metadata += member.extra
        meta = next((one for one in metadata if isinstance(one, Meta)), NOTHING)
        shape = self._shape(annotation, metadata, path)
        if member.may_be_missing:
            if nullable(shape):
                raise self._refused(
                    path,
                    "may be missing and may be None, which a schema cannot distinguish",
                    "Remove NotRequired, or None.",
                )
            branches = shape.branches if isinstance(shape, UnionOf) else (shape,)
            shape = UnionOf(branches, nullable=True)
        return FieldOf(
            member.name,
            meta.name or member.named or member.name,
            shape,
            member.default,
            meta.doc or member.doc,
            meta.aliases,
            meta.number,
            member.may_be_missing,
            member.has_factory,
        )

    def _shape(  # noqa: PLR0911 - a table of cases
        self, of: Any, metadata: tuple[object, ...], path: str
    ) -> Shape:
        annotation, own = _split(of)
        metadata = own + metadata
        annotation = getattr(annotation, "__supertype__", annotation)  # NewType
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Union or origin is types.UnionType:
            return self._union(args, metadata, path)
        if origin is Literal:
            return self._literal(args, path)
        if origin in _LISTS:
            return ListOf(self._shape(args[0], (), f"{path}[]"), _LISTS[origin])
        if origin is tuple and len(args) == 2 and args[1] is ...:
            return ListOf(self._shape(args[0], (), f"{path}[]"), tuple)
        if origin in _MAPS:
            return self._map(args, path)
        if annotation is Decimal:
            return self._decimal(metadata, path)
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return self._enum(annotation, path)
        if annotation is int and _meta(metadata).bits == 32:
            return Scalar.INT
        if isinstance(annotation, type) and annotation in _SCALARS:
            return _SCALARS[annotation]
        if has_fields(annotation):
            return self.record(annotation, path)
        raise self._unknown(annotation, origin, path)

    def _union(self, args: tuple[Any, ...], metadata: tuple[object, ...], path: str) -> Shape:
        shapes = tuple(self._shape(one, metadata, path) for one in args if one is not type(None))
        clash = unions.clash(shapes, unions.python_kind)
        if clash is not None:
            raise self._refused(path, f"is a union in which Python does not distinguish {clash}")
        return UnionOf(shapes, type(None) in args)

    def _literal(self, args: tuple[Any, ...], path: str) -> Shape:
        if not all(isinstance(one, str) for one in args):
            raise self._refused(path, "is a Literal of values that are not texts", "Use an Enum.")
        # Named after the field, so that the name is the same wherever its class is used.
        name = "".join(word[:1].upper() + word[1:] for word in self._owner.split("_"))
        self._claim(name, args, path)
        return ChoiceOf(name, None, args, args)

    def _enum(self, of: type[Enum], path: str) -> Shape:
        if not len(of):
            raise self._refused(path, f"is the Enum {of.__name__}, which has no members")
        meta = of.__dict__.get("__schema__")
        name = (meta.name if isinstance(meta, Meta) else None) or of.__name__
        self._claim(name, of, path)
        names = tuple(one.name for one in of)
        values = tuple(one.value for one in of)
        return ChoiceOf(
            name, of, names, values if all(isinstance(v, str) for v in values) else names
        )

    def _map(self, args: tuple[Any, ...], path: str) -> Shape:
        key = self._shape(args[0], (), f"{path}{{key}}")
        if key not in _KEYS:
            raise self._refused(
                f"{path}{{key}}", "is not a type of keys", "Use str, int or bool for the keys."
            )
        return MapOf(key, self._shape(args[1], (), f"{path}{{}}"))

    def _decimal(self, metadata: tuple[object, ...], path: str) -> Shape:
        precision, scale = _meta(metadata).precision, _meta(metadata).scale
        for one in metadata:  # the constraints of a pydantic field
            precision = precision or getattr(one, "max_digits", None)
            scale = getattr(one, "decimal_places", None) if scale is None else scale
        if precision is None or scale is None:
            raise self._refused(
                path,
                "is a Decimal without precision and scale",
                "Write Annotated[Decimal, Meta(precision=9, scale=2)].",
            )
        if not (1 <= precision <= DECIMAL_PRECISION_MAX and 0 <= scale <= precision):
            raise self._refused(
                path,
                f"is a Decimal of precision {precision} and scale {scale}",
                f"Use a precision of 1 to {DECIMAL_PRECISION_MAX}, and a scale of 0 to that.",
            )
        return DecimalOf(precision, scale)

    def _unknown(self, annotation: object, origin: object, path: str) -> InvalidSchemaError:
        if origin is tuple:
            return self._refused(
                path, "is a tuple of several types", "Use a NamedTuple, or tuple[T, ...]."
            )
        if annotation in {list, dict, set, frozenset, tuple}:
            return self._refused(
                path, f"is a {_shown(annotation)} of unknown types", "Write list[str]."
            )
        return self._refused(path, f"has the type {_shown(annotation)}", _KNOWN)

    def _refused(self, path: str, why: str, hint: str = "") -> InvalidSchemaError:
        return refused(self._root, path, why, hint)


def _split(annotation: Any) -> tuple[Any, tuple[object, ...]]:
    """Return an annotation without `Annotated`, and the metadata."""
    annotation = getattr(annotation, "__value__", annotation)  # the type of a `type` statement
    if typing.get_origin(annotation) is Annotated:
        inner, *metadata = typing.get_args(annotation)
        return inner, tuple(metadata)
    return annotation, ()


def _meta(metadata: tuple[object, ...]) -> Meta:
    return next((one for one in metadata if isinstance(one, Meta)), NOTHING)


def _shown(of: object) -> str:
    return of.__name__ if isinstance(of, type) else repr(of)

"""The fields of a class, and how to make its instances: one function for each kind of class.

pydantic is never imported: a model is recognized by its attributes.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from duolog.schemas.classes.meta import NOTHING, Meta
from duolog.schemas.classes.shapes import NO_DEFAULT
from duolog.schemas.errors import InvalidSchemaError

_STATIC: Final = (list, dict, set, frozenset, tuple)
"""Functions that make a default which is the same each time: an empty collection."""


@dataclass(frozen=True, slots=True)
class Member:
    """A field as its class declares it.

    Attributes:
        annotation: its type, with `Annotated`.
        extra: metadata besides that of the annotation.
    """

    name: str
    annotation: object
    default: object = NO_DEFAULT
    has_factory: bool = False
    may_be_missing: bool = False
    extra: tuple[object, ...] = ()
    named: str | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Members:
    """The fields of a class, in order, and how to read and make its instances."""

    fields: tuple[Member, ...]
    values: Callable[[Any], Mapping[str, Any]]
    make: Callable[[Mapping[str, Any]], Any]


def has_fields(of: object) -> TypeGuard[type]:
    """Return True for a class whose fields a schema can describe."""
    return isinstance(of, type) and (
        dataclasses.is_dataclass(of) or _is_model(of) or _is_named_tuple(of) or is_typed_dict(of)
    )


def is_typed_dict(of: type) -> bool:
    """Return True for a TypedDict, of `typing` or of `typing_extensions`."""
    return issubclass(of, dict) and hasattr(of, "__required_keys__")


def members_of(of: type) -> Members:
    """Return the fields of a class for which `has_fields` is true.

    Raises:
        InvalidSchemaError: its annotations name unknown types.
    """
    if _is_model(of):
        return _of_model(of)
    hints = _hints(of)
    if dataclasses.is_dataclass(of):
        return _of_dataclass(of, hints)
    if _is_named_tuple(of):
        return _of_named_tuple(of, hints)
    return _of_typed_dict(of, hints)


def meta_of(of: type) -> Meta:
    """Return the facts that a class has in its attribute `__schema__`."""
    found = vars(of).get("__schema__", NOTHING)
    if not isinstance(found, Meta):
        raise InvalidSchemaError(
            f"the attribute __schema__ of {of.__name__} is not a Meta",
            hint='Write __schema__ = Meta(namespace="shop").',
        )
    return found


def doc_of(of: type) -> str | None:
    """Return the docstring that a class was given; None for one that Python generated."""
    doc = vars(of).get("__doc__")
    generated = isinstance(doc, str) and doc.startswith(f"{of.__name__}(")
    return inspect.cleandoc(doc) or None if isinstance(doc, str) and not generated else None


def _hints(of: type) -> dict[str, object]:
    # A class in a function is not among the names of its module, but may contain itself.
    try:
        return typing.get_type_hints(of, localns={of.__name__: of}, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise InvalidSchemaError(
            f"cannot read the annotations of {of.__name__}: {error}",
            hint="Define the types that they name at the top of its module.",
        ) from error


def _of_dataclass(of: type, hints: Mapping[str, object]) -> Members:
    found = []
    for one in dataclasses.fields(of):
        default, has_factory = NO_DEFAULT, False
        if one.default is not dataclasses.MISSING:
            default = one.default
        elif one.default_factory is not dataclasses.MISSING:
            default, has_factory = _of_factory(one.default_factory)
        if one.init:
            found.append(Member(one.name, hints[one.name], default, has_factory))
    names = [one.name for one in found]
    return Members(
        tuple(found),
        lambda value: {name: getattr(value, name) for name in names},
        lambda values: of(**values),
    )


def _of_factory(factory: Callable[[], object]) -> tuple[Any, bool]:
    return (factory(), False) if factory in _STATIC else (NO_DEFAULT, True)


def _is_named_tuple(of: type) -> bool:
    return issubclass(of, tuple) and hasattr(of, "_fields") and hasattr(of, "__annotations__")


def _of_named_tuple(of: Any, hints: Mapping[str, object]) -> Members:
    defaults = of._field_defaults
    fields = tuple(Member(name, hints[name], defaults.get(name, NO_DEFAULT)) for name in of._fields)
    return Members(fields, lambda value: value._asdict(), lambda values: of(**values))


def _of_typed_dict(of: Any, hints: Mapping[str, object]) -> Members:
    fields = []
    for name, hint in hints.items():
        annotation = hint
        if typing.get_origin(annotation) in {typing.Required, typing.NotRequired}:
            (annotation,) = typing.get_args(annotation)
        missing = name not in of.__required_keys__
        default = None if missing else NO_DEFAULT
        fields.append(Member(name, annotation, default, may_be_missing=missing))
    optional = {one.name for one in fields if one.may_be_missing}

    def make(values: Mapping[str, Any]) -> Any:
        return {
            name: value
            for name, value in values.items()
            if value is not None or name not in optional
        }

    return Members(tuple(fields), lambda value: value, make)


def _is_model(of: type) -> bool:
    return hasattr(of, "model_fields") and hasattr(of, "model_validate")


def _of_model(of: Any) -> Members:
    """Return the fields of a pydantic model of version 2."""
    fields, keys = [], {}
    for name, info in of.model_fields.items():
        default, has_factory = NO_DEFAULT, False
        if info.default_factory is not None:
            default, has_factory = _of_factory(info.default_factory)
        elif not info.is_required():
            default = info.default
        alias = info.validation_alias if isinstance(info.validation_alias, str) else None
        keys[name] = alias or name
        fields.append(
            Member(
                name,
                info.annotation,
                default,
                has_factory,
                extra=tuple(info.metadata),
                named=info.serialization_alias or alias,
                doc=info.description,
            )
        )
    names = [one.name for one in fields]
    return Members(
        tuple(fields),
        lambda value: {name: getattr(value, name) for name in names},
        lambda values: of.model_validate({keys[name]: one for name, one in values.items()}),
    )

"""Convert a shape to columns, and rows of columns to instances.

    str, UUID, Enum      STRING            list, set   ARRAY
    int                  BIGINT, or INT    dict        MAP
    float, bool, bytes   DOUBLE, BOOLEAN, BYTES        class       STRUCT
    Decimal              DECIMAL           T | None    T
    date, time           DATE, TIME; STRING in JSON    A | B       refused
    datetime             TIMESTAMP; STRING in JSON     a class that contains itself: refused

The columns are those that SQL infers from the schema of the class, but for times of microseconds,
which are TIMESTAMP and TIME here. A column has milliseconds.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, Final

from duolog.core import types as sql
from duolog.core.types import Column
from duolog.schemas.classes.conversion import Conversion, Convert
from duolog.schemas.classes.protobuf_names import value_name
from duolog.schemas.classes.reading import refused, shape_of
from duolog.schemas.classes.shapes import (
    NO_DEFAULT,
    ChoiceOf,
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
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Language

_SCALARS: Final[dict[Scalar, sql.Type]] = {
    Scalar.TEXT: sql.STRING,
    Scalar.UUID: sql.STRING,
    Scalar.INT: sql.INT,
    Scalar.LONG: sql.BIGINT,
    Scalar.DOUBLE: sql.DOUBLE,
    Scalar.BOOLEAN: sql.BOOLEAN,
    Scalar.BYTES: sql.BYTES,
    Scalar.DATE: sql.DATE,
    Scalar.TIME: sql.TIME,
    Scalar.DATETIME: sql.TIMESTAMP,
}
_TEXTS_IN_JSON: Final = (Scalar.DATE, Scalar.TIME, Scalar.DATETIME)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


def columns_of(of: type, language: Language) -> tuple[Column, ...]:
    """Return the columns of a class in a language.

    Raises:
        InvalidSchemaError: a field has no column; the error has its path.
    """
    shape = shape_of(of)
    return _Columns(shape, language).fields(shape, "", ())


class _Columns:
    def __init__(self, root: RecordOf, language: Language) -> None:
        self._root = root
        self._language = language

    def fields(
        self, shape: RecordOf, path: str, around: tuple[RecordOf, ...]
    ) -> tuple[Column, ...]:
        """Return the columns of a class; `around` are the classes that it is in."""
        if any(one is shape for one in around):
            raise self._refused(path, f"is a {shape.name} inside a {shape.name}")
        return tuple(
            Column(
                field.name,
                self._type(
                    field.shape,
                    f"{path}.{field.attribute}" if path else field.attribute,
                    (*around, shape),
                ),
            )
            for field in shape.fields
        )

    def _type(  # noqa: PLR0911 - a table of cases
        self, shape: Shape, path: str, around: tuple[RecordOf, ...]
    ) -> sql.Type:
        match shape:
            case Scalar() if shape in _TEXTS_IN_JSON and self._language == Language.JSON:
                return sql.STRING
            case Scalar():
                return _SCALARS[shape]
            case DecimalOf(precision=precision, scale=scale):
                return sql.Decimal(precision, scale)
            case ChoiceOf():
                return sql.STRING
            case ListOf(item=item):
                return sql.Array(self._type(item, f"{path}[]", around))
            case MapOf(key=key, value=value):
                each = self._type(key, path, around), self._type(value, f"{path}{{}}", around)
                return sql.Map(*each)
            case UnionOf(branches=branches):
                if len(branches) > 1:
                    raise self._refused(path, f"is a union of several types, {called(shape)}")
                return self._type(branches[0], path, around)
            case RecordOf():
                return sql.Struct(self.fields(shape, path, around))

    def _refused(self, path: str, why: str) -> InvalidSchemaError:
        error = refused(self._root.of, path, f"{why}, which no column can hold")
        error.message = error.message.replace("cannot make a schema of", "cannot make columns of")
        error.hint = "Read and write the topic with TypedSerde, or leave the field out."
        return error


@cache
def instance_maker(of: type) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that makes an instance of a class from the columns of a row.

    A class that no schema can describe gets the values as they are.
    """
    try:
        return FromRow().of(shape_of(of), "")
    except InvalidSchemaError:
        return lambda row: of(**row)


class FromRow(Conversion):
    """Functions that convert values of columns to Python values; null is None everywhere."""

    def of(self, shape: Shape, path: str) -> Convert:
        convert = super().of(shape, path)
        return lambda value: None if value is None else convert(value)

    def scalar(self, shape: Scalar, path: str) -> Convert:
        return _SCALAR_READERS.get(shape, _same)

    def decimal(self, shape: DecimalOf, path: str) -> Convert:
        return lambda value: value if isinstance(value, Decimal) else Decimal(str(value))

    def choice(self, shape: ChoiceOf, path: str) -> Convert:
        symbols = {value_name(shape, one): one for one in shape.symbols}
        symbols |= dict(zip(shape.texts, shape.symbols, strict=True))
        symbols |= {one: one for one in shape.symbols}

        def read(value: Any) -> Any:
            if isinstance(value, Enum):
                return value
            if value not in symbols:
                raise ValueError(f'"{path}" is {value!r}, which is not a {shape.name}')
            return shape.value(symbols[value])

        return read

    def sequence(self, shape: ListOf, item: Convert, path: str) -> Convert:
        return lambda value: shape.made([item(one) for one in value])

    def mapping(self, shape: MapOf, key: Convert, value: Convert, path: str) -> Convert:
        return lambda given: {key(name): value(one) for name, one in given.items()}

    def union(self, shape: UnionOf, each: Sequence[Convert], path: str) -> Convert:
        return _same

    def record(
        self, shape: RecordOf, fields: Sequence[tuple[FieldOf, Convert]], path: str
    ) -> Convert:
        def convert(row: Any) -> Any:
            found = {}
            for field, read in fields:
                name = field.name if field.name in row else field.attribute
                has_default = field.default is not NO_DEFAULT or field.has_factory
                if row.get(name) is None and has_default and not _may_be_none(field):
                    continue  # A record of an earlier version, which did not have the field.
                if name in row:
                    found[field.attribute] = read(row[name])
                elif not has_default:
                    raise TypeError(f'{shape.name} needs "{field.name}", which is not a column')
            return shape.make(found)

        return convert


def _may_be_none(field: FieldOf) -> bool:
    return isinstance(field.shape, UnionOf) and field.shape.nullable


def _same(value: Any) -> Any:
    return value


def _date(value: Any) -> Any:
    return dt.date.fromisoformat(value) if isinstance(value, str) else value


def _time(value: Any) -> Any:
    if isinstance(value, str):
        return dt.time.fromisoformat(value)
    if isinstance(value, int):
        return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + value * _MILLISECOND).time()
    return value


def _datetime(value: Any) -> Any:
    return dt.datetime.fromisoformat(value) if isinstance(value, str) else value


_SCALAR_READERS: Final[dict[Scalar, Convert]] = {
    Scalar.UUID: lambda value: uuid.UUID(value) if isinstance(value, str) else value,
    Scalar.DATE: _date,
    Scalar.TIME: _time,
    Scalar.DATETIME: _datetime,
}

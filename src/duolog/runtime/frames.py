"""Convert rows to pandas, Arrow and Polars.

    type        pandas               Arrow               Polars
    BOOLEAN     boolean              bool_               Boolean
    INT         Int32                int32               Int32
    BIGINT      Int64                int64               Int64
    DOUBLE      float64              float64             Float64
    STRING      object               string              String
    BYTES       object               binary              Binary
    DATE        object               date32              Date
    TIMESTAMP   datetime64[us,UTC]   timestamp[us,UTC]   Datetime[us,UTC]
    DECIMAL     object               decimal128          Decimal
    ARRAY       object               list_               List
    MAP         object               map_                List of key, value
    STRUCT      object               struct              Struct

A TIME is an INT, milliseconds of the day. Types depend on the columns only, so that a column of
nulls has its type too.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any, Final

from duolog.core.errors import ConfigError
from duolog.core.optional_packages import pip_install
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.serde.row import Row

_PANDAS: Final = {
    BOOLEAN: "boolean",
    INT: "Int32",
    BIGINT: "Int64",
    DOUBLE: "float64",
    TIMESTAMP: "datetime64[us, UTC]",
    TIME: "Int32",
}
_POLARS: Final = {
    BOOLEAN: "Boolean",
    INT: "Int32",
    BIGINT: "Int64",
    DOUBLE: "Float64",
    STRING: "String",
    BYTES: "Binary",
    DATE: "Date",
    TIME: "Int32",
}
_ARROW: Final = {
    BOOLEAN: "bool_",
    INT: "int32",
    BIGINT: "int64",
    DOUBLE: "float64",
    STRING: "string",
    BYTES: "binary",
    DATE: "date32",
    TIME: "int32",
}


_ROWS_AT_ONCE: Final = 50_000
Frame = Any
"""A DataFrame or table of an optional library, which may have no types."""


class Framed:
    """Base class for rows with columns, with conversions to other libraries."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the rows, with types of the plan."""
        raise NotImplementedError

    def rows(self) -> list[Row]:
        """Return the rows as tuples."""
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by column name; as `rows`."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows()]

    def to_pandas(self) -> Frame:
        """Return the rows as a pandas DataFrame; as `rows`.

        Raises:
            ConfigError: pandas is not installed.
        """
        library("pandas", "pandas")
        return to_pandas(self.columns, self.rows())

    def to_arrow(self) -> Frame:
        """Return the rows as a pyarrow Table; as `to_pandas`."""
        library("pyarrow", "pyarrow")
        return to_arrow(self.columns, self.rows())

    def to_polars(self) -> Frame:
        """Return the rows as a polars DataFrame; as `to_pandas`."""
        library("polars", "polars")
        return to_polars(self.columns, self.rows())


def library(name: str, package: str) -> ModuleType:
    """Import an optional library.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"{name} is not installed",
            name=name,
            detail=f"{error}.",
            hint=f"Run `{pip_install(package)}`.",
        ) from error


def to_pandas(columns: Sequence[Column], rows: Iterable[Row]) -> Frame:
    """Return a pandas DataFrame."""
    pandas = library("pandas", "pandas")
    names = [column.name for column in columns]
    parts = [
        pandas.DataFrame(
            {
                column.name: pandas.Series(values, dtype=_PANDAS.get(column.type, "object"))
                for column, values in some
            },
            columns=names,
        )
        for some in _by_column(columns, rows)
    ]
    return parts[0] if len(parts) == 1 else pandas.concat(parts, ignore_index=True)


def to_arrow(columns: Sequence[Column], rows: Iterable[Row]) -> Frame:
    """Return a pyarrow Table."""
    arrow = library("pyarrow", "pyarrow")
    names = [column.name for column in columns]
    parts = [
        arrow.table(
            [
                arrow.array(
                    [_with_entries(value, column.type) for value in values],
                    _arrow(arrow, column.type),
                )
                for column, values in some
            ],
            names=names,
        )
        for some in _by_column(columns, rows)
    ]
    return parts[0] if len(parts) == 1 else arrow.concat_tables(parts).combine_chunks()


def to_polars(columns: Sequence[Column], rows: Iterable[Row]) -> Frame:
    """Return a polars DataFrame."""
    polars = library("polars", "polars")
    parts = [
        polars.DataFrame(
            [
                polars.Series(
                    column.name,
                    [_with_entries(value, column.type, named=True) for value in values],
                    dtype=_polars(polars, column.type),
                )
                for column, values in some
            ]
        )
        for some in _by_column(columns, rows)
    ]
    return parts[0] if len(parts) == 1 else polars.concat(parts)


def _by_column(
    columns: Sequence[Column], rows: Iterable[Row]
) -> Iterator[list[tuple[Column, list[object]]]]:
    """Yield the values of some rows at a time by column; once, if there are no rows.

    Python's values take several times the memory of a frame's: few of them exist at a time.
    """
    left = iter(rows)
    is_first = True
    while (some := list(islice(left, _ROWS_AT_ONCE))) or is_first:
        is_first = False
        yield [(column, [row[at] for row in some]) for at, column in enumerate(columns)]


def _arrow(arrow: ModuleType, of: Type) -> object:
    match of:
        case Array():
            return arrow.list_(_arrow(arrow, of.element))
        case Map():
            return arrow.map_(_arrow(arrow, of.key), _arrow(arrow, of.value))
        case Struct():
            return arrow.struct([(field.name, _arrow(arrow, field.type)) for field in of.fields])
        case Decimal():
            return arrow.decimal128(of.precision, of.scale)
        case _ if of == TIMESTAMP:
            return arrow.timestamp("us", tz="UTC")
        case _:
            return getattr(arrow, _ARROW[of])()


def _polars(polars: ModuleType, of: Type) -> object:
    match of:
        case Array():
            return polars.List(_polars(polars, of.element))
        case Map():
            entry = {"key": _polars(polars, of.key), "value": _polars(polars, of.value)}
            return polars.List(polars.Struct(entry))
        case Struct():
            return polars.Struct({field.name: _polars(polars, field.type) for field in of.fields})
        case Decimal():
            return polars.Decimal(of.precision, of.scale)
        case _ if of == TIMESTAMP:
            return polars.Datetime("us", "UTC")
        case _:
            return getattr(polars, _POLARS[of])


def _with_entries(value: Any, of: Type, *, named: bool = False) -> object:
    """Convert MAPs in a value to lists of entries: pairs, or rows with key and value if `named`."""
    match of:
        case _ if value is None:
            return None
        case Array():
            return [_with_entries(item, of.element, named=named) for item in value]
        case Struct():
            return {
                field.name: _with_entries(value.get(field.name), field.type, named=named)
                for field in of.fields
            }
        case Map():
            entries = [(k, _with_entries(item, of.value, named=named)) for k, item in value.items()]
            return [{"key": k, "value": item} for k, item in entries] if named else entries
        case _:
            return value

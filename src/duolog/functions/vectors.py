"""Calls of functions on Arrow arrays and pandas series: the values of many records at once."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from duolog.core.counts import counted
from duolog.functions.values import ToText, text
from duolog.plan.expressions.python_functions import PythonFunction
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
)

_PLAIN: Final[dict[Type, ToText]] = {of: text(of) for of in (INT, BIGINT, DOUBLE, STRING, BOOLEAN)}

if TYPE_CHECKING:
    import pyarrow as pa


def call(function: PythonFunction, rows: list[list[object]]) -> list[object]:
    """Return the function's results for many rows.

    Raises:
        TypeError: its result is not an array of the same length. Errors of the function are passed
            on.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    return results(called(function, columns), len(rows))


def called(function: PythonFunction, columns: Sequence[list[object]]) -> object:
    """Return the function's raw result for columns of values. Its errors are passed on."""
    import pyarrow as pa  # noqa: PLC0415 - an extra, and a third of a second

    arrays = [
        pa.array(column, type=arrow_type(of))
        for column, of in zip(columns, function.parameters, strict=True)
        if of is not None
    ]
    given = [array.to_pandas() for array in arrays] if function.takes == "pandas" else arrays
    return function.function(*given)


def lines(function: PythonFunction, found: object, count: int) -> bytes | None:
    """Return a line for each of `count` results; None if their type needs a check of each."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    if function.result not in _PLAIN or not count:
        return None
    if hasattr(found, "dtype"):
        try:
            # Missing values of a series become null and are then checked one by one: NaN is a
            # value.
            found = pa.array(found, from_pandas=True)
        except pa.ArrowException:
            return None
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not isinstance(found, pa.Array) or len(found) != count or found.null_count:
        return None
    if found.type != arrow_type(function.result):
        return None
    texts = _texts(found, function.result)
    return None if texts is None else ('+{"r":' + '}\n+{"r":'.join(texts) + "}\n").encode()


def _texts(found: "pa.Array", of: Type) -> Iterable[str] | None:
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    if of == DOUBLE and not pc.all(pc.is_finite(found)).as_py():
        return None  # NaN has no JSON number
    return map(_PLAIN[of], found.to_pylist())


def results(found: object, count: int) -> list[object]:
    """Return the values in a function's result for `count` rows.

    Raises:
        TypeError: it is not an array, or has another length.
    """
    for name in ("to_pylist", "tolist"):
        if hasattr(found, name):
            listed = getattr(found, name)()
            break
    else:
        raise TypeError(f"returned {type(found).__name__}, which is not an array")
    if not isinstance(listed, list) or len(listed) != count:
        length = len(listed) if isinstance(listed, list) else 1
        raise TypeError(f"returned {counted(length, 'value')} for {counted(count, 'record')}")
    return [None if _is_missing(value) else value for value in listed]


def _is_missing(value: object) -> bool:
    # pandas uses NaT and NA for null; NaN is a DOUBLE.
    return type(value).__name__ in {"NaTType", "NAType"}


def arrow_type(of: Type) -> "pa.DataType":
    """Return the Arrow type of a column type."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    match of:
        case Array(element=element):
            return pa.list_(arrow_type(element))
        case Map(key=key, value=value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields=fields):
            return pa.struct([(name, arrow_type(kind)) for name, kind in fields])
        case Decimal():
            return pa.decimal128(of.precision, of.scale)
        case _:
            return {
                BOOLEAN: pa.bool_(),
                INT: pa.int32(),
                BIGINT: pa.int64(),
                DOUBLE: pa.float64(),
                STRING: pa.string(),
                BYTES: pa.binary(),
                DATE: pa.date32(),
                TIMESTAMP: pa.timestamp("us", tz=str(dt.UTC)),
            }[of]

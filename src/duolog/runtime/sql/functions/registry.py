"""The functions by their names in queries, and their registration in DuckDB.

A function is registered by the first query that calls it. The very first registration takes 100 ms,
because DuckDB imports numpy for it.
"""

import math
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.functions import (
    binary,
    decimals,
    json_texts,
    lenient_dates,
    numbers,
    texts,
    time_texts,
    time_units,
    urls,
)
from duolog.runtime.sql.functions.bounded_patterns import bounded
from duolog.runtime.sql.functions.call_limits import VARIABLE, CallStopped

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PREFIX: Final = "duolog_"
_CALLED: Final = re.compile(rf"\b{PREFIX}\w+(?=\()")

_TEXT: Final = "VARCHAR"
_DOUBLE: Final = "DOUBLE"
"""Passed as a string, because DuckDB would turn NaN into null."""
_TEXTS: Final = "VARCHAR[]"
_TEXT_BY_TEXT: Final = "MAP(VARCHAR, VARCHAR)"


Compute = Callable[..., Any]
"""Computes a value from values of DuckDB."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and DuckDB's type of its result; parameters are not typed.

    Attributes:
        is_bounded: True if the function gets the number of a `CallLimit` after its arguments.
    """

    call: Compute
    gives: str
    takes_nulls: bool = False
    is_bounded: bool = False


def _given(gives: str, **calls: Compute) -> dict[str, Function]:
    return {name: Function(call, gives) for name, call in calls.items()}


def _with_nulls(gives: str, **calls: Compute) -> dict[str, Function]:
    return {name: Function(call, gives, takes_nulls=True) for name, call in calls.items()}


def _bounded(gives: str, **names: str) -> dict[str, Function]:
    """Return functions that may take long for one row, see `bounded_patterns`."""
    return {name: Function(bounded(call), gives, is_bounded=True) for name, call in names.items()}


_DOUBLES: Final = {
    "acos": math.acos,
    "asin": math.asin,
    "cos": math.cos,
    "cosh": math.cosh,
    "exp": math.exp,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}

FUNCTIONS: Final = {
    **_given(
        _TEXT,
        bytes_uuid=binary.to_uuid,
        capitalized=texts.capitalized,
        encode=binary.encode,
        from_bytes=binary.from_bytes,
        lower=texts.lower,
        of_code_point=texts.of_code_point,
        of_escapes=texts.of_escapes,
        pad_left=texts.pad_left,
        pad_right=texts.pad_right,
        joined=texts.joined,
        replace=texts.replace,
        substring=texts.substring,
        trim=texts.trim,
        upper=texts.upper,
        json_extract=json_texts.extract,
        url_encode=urls.encode,
        url_decode=urls.decode,
        url_protocol=urls.protocol,
        url_host=urls.host,
        url_path=urls.path,
        url_query=urls.query,
        url_fragment=urls.fragment,
        url_parameter=urls.parameter,
        double_text=numbers.double_text,
        decimal=decimals.computed,
        decimal_at=decimals.rounded,
        decimal_sum=decimals.total,
        text_decimal=decimals.read,
        round_decimal=numbers.rounded_decimal,
        truncate_decimal=numbers.truncated_decimal,
        date_text=time_texts.date_text,
        days_text=time_texts.days_text,
        time_text=time_texts.time_text,
        timestamp_text=time_texts.timestamp_text,
        millis_text=time_texts.millis_text,
    ),
    **_bounded(_TEXT, pattern_extract="extract", pattern_replace="replaced"),
    **_bounded(_TEXTS, pattern_extract_all="extract_all", pattern_split="split"),
    **_bounded("BOOLEAN", like="like"),
    **_with_nulls(
        _TEXT,
        mask_left=texts.masking("LEFT"),
        mask_right=texts.masking("RIGHT"),
        mask_keep_left=texts.masking("KEEP_LEFT"),
        mask_keep_right=texts.masking("KEEP_RIGHT"),
        json_concat=json_texts.concat,
        to_json=json_texts.to_json,
    ),
    **_given(
        _TEXTS,
        parts=texts.parts,
        json_items=json_texts.items,
        json_keys=json_texts.keys,
    ),
    **_given(_TEXT_BY_TEXT, entries=texts.entries, json_records=json_texts.records),
    **_given("BLOB[]", bytes_parts=texts.bytes_parts),
    **_given(
        "BLOB",
        to_bytes=binary.to_bytes,
        bytes_substring=texts.bytes_substring,
        bytes_pad_left=texts.bytes_pad_left,
        bytes_pad_right=texts.bytes_pad_right,
    ),
    **_with_nulls("BLOB", bytes_join=texts.bytes_join),
    **_given(
        "INTEGER",
        length=texts.length,
        bytes_int=binary.to_int,
        json_array_length=json_texts.array_length,
        text_days=time_texts.text_days,
        text_time=time_texts.text_time,
        added_to_time=time_units.added_to_time,
        url_port=urls.port,
    ),
    **_with_nulls("INTEGER", position=texts.position),
    **_given(
        "BIGINT",
        bytes_bigint=binary.to_bigint,
        round=numbers.rounded,
        text_millis=time_texts.text_millis,
    ),
    **_given("BOOLEAN", json_array_contains=json_texts.array_contains),
    **_with_nulls("BOOLEAN", json_is_json=json_texts.is_json),
    **_given("DATE", text_date=lenient_dates.read_date, added_to_date=time_units.added_to_date),
    **_given(
        "TIMESTAMP",
        text_timestamp=time_texts.text_timestamp,
        convert_zone=time_texts.converted,
        added_to_timestamp=time_units.added_to_timestamp,
    ),
    **_given(
        _DOUBLE,
        bytes_double=binary.to_double,
        cbrt=numbers.cbrt,
        cot=numbers.cot,
        distance=numbers.distance,
        log=numbers.logarithm,
        power=numbers.power,
        round_at=numbers.rounded_at,
        sinh=numbers.sinh,
        text_double=numbers.text_double,
        truncate_at=numbers.truncated_at,
        variance=numbers.variance,
        **{name: numbers.of_double(compute) for name, compute in _DOUBLES.items()},
    ),
}


_of_users: Final[dict[str, Function]] = {}
_there: Final[WeakKeyDictionary["DuckDBPyConnection", set[str]]] = WeakKeyDictionary()
"""Registered functions, by connection: asking DuckDB takes 30 ms."""


_registering: Final = threading.Lock()


def ensure_functions(connection: "DuckDBPyConnection", sql: str) -> None:
    """Register the functions that a query calls, unless they are."""
    called_now = {name.removeprefix(PREFIX) for name in _CALLED.findall(sql)}
    if not called_now:
        return
    with _registering:
        _register(connection, called_now & (FUNCTIONS.keys() | _of_users.keys()))


def _register(connection: "DuckDBPyConnection", names: set[str]) -> None:
    known = _there.setdefault(connection, set())
    for name in sorted(names - known):
        function = _function(name)
        connection.create_function(  # type: ignore[call-overload] # DuckDB accepts the name.
            PREFIX + name,
            _guarded(function),
            None,
            _TEXT if function.gives == _DOUBLE else function.gives,
            null_handling="special",
        )
        known.add(name)


def ensure_known(name: str, function: Function) -> None:
    """Add a user-defined function under a name, which keeps its meaning in this process."""
    _of_users.setdefault(name, function)


def _function(name: str) -> Function:
    return FUNCTIONS.get(name) or _of_users[name]


def _guarded(function: Function) -> Compute:
    """Wrap a function to return null for exceptions and, unless it accepts them, for nulls."""
    call, strict, of_double = function.call, not function.takes_nulls, function.gives == _DOUBLE

    limits = 1 if function.is_bounded else 0

    def guarded(*args: Any) -> Any:
        if strict and None in args[: len(args) - limits]:
            return None
        try:
            found = call(*args)
            return repr(float(found)) if found is not None and of_double else found
        except (Unsupported, CallStopped):
            raise
        except Exception:  # noqa: BLE001 - as in ksqlDB, any failure is null
            return None

    return guarded


def called(name: str, args: Sequence[str]) -> str:
    """Return a call in DuckDB's SQL."""
    function = _function(name)
    given = (*args, f"getvariable('{VARIABLE}')") if function.is_bounded else args
    call = f"{PREFIX}{name}({', '.join(given)})"
    return f"CAST({call} AS DOUBLE)" if function.gives == _DOUBLE else call

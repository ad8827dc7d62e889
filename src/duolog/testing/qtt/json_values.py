"""Convert between the values of cases, which are JSON, and the values of columns."""

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from duolog.core.types import (
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
    Map,
    Struct,
    Type,
)
from duolog.core.types import Decimal as DecimalType
from duolog.serde.text_numbers import EXACT
from duolog.serde.times import date_of, days_of, milliseconds_of, timestamp_of

if TYPE_CHECKING:
    from collections.abc import Callable


def dumps(value: object) -> str:
    """Return JSON in which a Decimal keeps its digits."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            return "{" + ",".join(f"{json.dumps(k)}:{dumps(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(dumps, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def from_spec(value: object, of: Type) -> object:
    """Return the value of a column for a value of a case.

    Fields match without regard to case, and unknown ones are dropped.
    """
    if value is None:
        return None
    match of:
        case Struct(fields=fields) if isinstance(value, dict):
            given = {name.upper(): one for name, one in value.items()} | value
            return {
                field.name: from_spec(
                    given.get(field.name, given.get(field.name.upper())), field.type
                )
                for field in fields
            }
        case Array(element=element) if isinstance(value, list):
            return [from_spec(one, element) for one in value]
        case Map(key=key, value=inner) if isinstance(value, dict):
            return {from_spec(name, key): from_spec(one, inner) for name, one in value.items()}
        case DecimalType(scale=scale):
            step = Decimal(1).scaleb(-scale)
            return Decimal(str(value)).quantize(step, context=EXACT)
        case _:
            return _scalar(value, of)


def _scalar(value: object, of: Type) -> object:
    text = value if isinstance(value, str) else dumps(value)
    if of in {INT, BIGINT, TIME}:
        return int(text)
    converted: dict[Type, Callable[[], object]] = {
        BOOLEAN: lambda: text == "true",
        DOUBLE: lambda: float(text),
        STRING: lambda: text,
        BYTES: lambda: base64.b64decode(text),
        DATE: lambda: date_of(int(text)),
        TIMESTAMP: lambda: timestamp_of(int(text)),
    }
    return converted[of]()


def to_spec(value: object, of: Type) -> object:
    """Return the value of a case for a value of a column."""
    if value is None:
        return None
    match of:
        case Struct(fields=fields) if isinstance(value, dict):
            return {field.name: to_spec(value.get(field.name), field.type) for field in fields}
        case Array(element=element) if isinstance(value, list):
            return [to_spec(one, element) for one in value]
        case Map(key=key, value=inner) if isinstance(value, dict):
            return {_name(to_spec(name, key)): to_spec(one, inner) for name, one in value.items()}
        case _:
            return _plain(value)


def _plain(value: object) -> object:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return milliseconds_of(value)
        case date():
            return days_of(value)
        case _:
            return value


def _name(key: object) -> str:
    return key if isinstance(key, str) else dumps(key)

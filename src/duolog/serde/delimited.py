r"""Format DELIMITED: columns as texts between delimiters, quoted if necessary.

    7,"San Francisco, CA",,1.50      INT, STRING, a null, DECIMAL(4,2)

BYTES are in base64, DATE in days, TIME and TIMESTAMP in milliseconds. An empty column is read as
null, also if quoted. Only the first line with text is read. The kernel's `Delimited` reads and
writes the same bytes.

Source: ksqlDB; for quotes RFC 4180 and the rules of the library that ksqlDB uses (Commons CSV): the
first text is quoted unless it starts with an ASCII letter or digit.
"""

import base64
import binascii
from decimal import DecimalException
from typing import TYPE_CHECKING, Final, cast

from duolog.core.counts import counted
from duolog.core.errors import SerdeError
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
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.serde import text_numbers
from duolog.serde.json_reading import Reader
from duolog.serde.json_writing import SCALAR_WRITERS, Writer, double_text
from duolog.serde.ksql_json import decimal_text
from duolog.serde.row import Row
from duolog.serde.times import (
    DAYS_MAX,
    DAYS_MIN,
    INTEGER_BOUNDS,
    MILLISECONDS_MAX,
    MILLISECONDS_MIN,
    date_of,
    days_of,
    milliseconds_of,
    timestamp_of,
)

if TYPE_CHECKING:
    import datetime as dt

COMMA: Final = ","
_QUOTE: Final = '"'
_ENDS: Final = "\r\n"
_SPACES: Final = " \t\x0b\x0c\x1c\x1d\x1e\x1f"


class DelimitedSerde:
    """Reads and writes rows of columns of plain types as one line."""

    def __init__(
        self, columns: tuple[Column, ...], *, delimiter: str = COMMA, key: bool = False
    ) -> None:
        """Create a serde.

        Args:
            columns: the columns of a line.
            delimiter: one character.
            key: a single null column is a null key; as a value it is an empty line.
        """
        if not columns or any(isinstance(c.type, Array | Map | Struct) for c in columns):
            raise SerdeError("format DELIMITED carries columns of plain types")
        self._columns = columns
        self._delimiter = delimiter
        self._is_bare_key = key and len(columns) == 1

    def serialize(self, row: Row | None) -> bytes | None:
        if row is None or (self._is_bare_key and row[0] is None):
            return None
        try:
            texts = [
                "" if value is None else _quoted(_text(value, column.type), self._delimiter, place)
                for place, (value, column) in enumerate(zip(row, self._columns, strict=True))
            ]
            return self._delimiter.join(texts).encode()
        except (TypeError, ValueError, AttributeError, DecimalException) as error:
            raise SerdeError("cannot write a row as a line", detail=f"{row!r}: {error}.") from error

    def deserialize(self, data: bytes | None) -> Row | None:
        if data is None:
            return None
        try:
            texts = split_line(data.decode(), self._delimiter)
        except ValueError as error:
            raise SerdeError(
                "the bytes are not a line", detail=f"{error}; {data[:40]!r}."
            ) from error
        if len(texts) != len(self._columns):
            raise SerdeError(
                f"the line has {counted(len(texts), 'column')}, expected {len(self._columns)}",
                detail=f"It starts with {data[:40]!r}.",
            )
        return tuple(map(_read, texts, self._columns))


def _read(text: str, column: Column) -> object:
    try:
        return _value(text, column.type) if text else None
    except (ValueError, binascii.Error, DecimalException) as error:
        raise SerdeError(
            f'cannot read column "{column.name}" of a line',
            detail=f"{text!r} is not a valid {column.type}.",
        ) from error


def split_line(text: str, delimiter: str = COMMA) -> list[str]:
    r"""Return the texts of the first line that is not empty.

    Raises:
        ValueError: there is none, a quote is not closed, or text follows a closing quote.

    Example:
        >>> split_line('a,"b, ""c"" d" ,\nd')
        ['a', 'b, "c" d', '']
    """
    line = text.lstrip(_ENDS)
    if not line:
        raise ValueError("there is no line")
    found: list[str] = []
    at = 0
    while True:
        if delimiter != _QUOTE and line[at : at + 1] == _QUOTE:
            one, at = _in_quotes(line, at + 1, delimiter)
        else:
            start = at
            while at < len(line) and line[at] != delimiter and line[at] not in _ENDS:
                at += 1
            one = line[start:at]
        found.append(one)
        if at == len(line) or line[at] in _ENDS:
            return found
        at += 1


def _in_quotes(line: str, start: int, delimiter: str) -> tuple[str, int]:
    """Return the text after an opening quote, and where the closing quote and blanks end."""
    parts: list[str] = []
    while (end := line.find(_QUOTE, start)) >= 0:
        parts.append(line[start:end])
        if line[end + 1 : end + 2] != _QUOTE:
            at = end + 1
            while at < len(line) and line[at] != delimiter and line[at] in _SPACES:
                at += 1
            if at < len(line) and line[at] != delimiter and line[at] not in _ENDS:
                raise ValueError(f"{line[at]!r} follows a closing quote")
            return "".join(parts), at
        parts.append(_QUOTE)
        start = end + 2
    raise ValueError("a quote is not closed")


def _quoted(text: str, delimiter: str, place: int) -> str:
    is_first = place == 0
    if not text:
        return _QUOTE * 2 if is_first else ""
    starts_as_word = text[0].isascii() and text[0].isalnum()
    plain = (
        (starts_as_word or not is_first)
        and text[0] > "#"
        and text[-1] > " "
        and not any(sign in text for sign in (delimiter, _QUOTE, *_ENDS))
    )
    return text if plain else _QUOTE + text.replace(_QUOTE, _QUOTE * 2) + _QUOTE


def _text(value: object, of: Type) -> str:
    return decimal_text(value, of.scale) if isinstance(of, Decimal) else _WRITERS[of](value)


def _value(text: str, of: Type) -> object:
    return text_numbers.decimal(text, of) if isinstance(of, Decimal) else _READERS[of](text)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_WRITERS: Final[dict[Type, Writer]] = {
    BOOLEAN: SCALAR_WRITERS[BOOLEAN],
    INT: SCALAR_WRITERS[INT],
    BIGINT: SCALAR_WRITERS[BIGINT],
    TIME: SCALAR_WRITERS[INT],
    DOUBLE: lambda value: double_text(float(cast("float", value))),
    STRING: _string,
    BYTES: lambda value: base64.b64encode(cast("bytes", value)).decode(),
    DATE: lambda value: str(days_of(cast("dt.date", value))),
    TIMESTAMP: lambda value: str(milliseconds_of(cast("dt.datetime", value))),
}
_READERS: Final[dict[Type, Reader]] = {
    BOOLEAN: lambda text: str(text).lower() == "true",
    INT: lambda text: text_numbers.integer(str(text), *INTEGER_BOUNDS[INT]),
    BIGINT: lambda text: text_numbers.integer(str(text), *INTEGER_BOUNDS[BIGINT]),
    TIME: lambda text: text_numbers.integer(str(text), *INTEGER_BOUNDS[INT]),
    DOUBLE: lambda text: text_numbers.real(str(text)),
    STRING: lambda text: text,
    BYTES: lambda text: _base64(str(text)),
    DATE: lambda text: date_of(text_numbers.integer(str(text), DAYS_MIN, DAYS_MAX)),
    TIMESTAMP: lambda text: timestamp_of(
        text_numbers.integer(str(text), MILLISECONDS_MIN, MILLISECONDS_MAX)
    ),
}

"""Convert between records of a table's topic, bytes in a store, and rows.

    one key column in format KAFKA   key: the record's key, in bytes that sort as its values do
                                     entry: | i64 time | i64 offset | u32 partition | value |
    any other key                    key: `SortableKeys` of the decoded columns
                                     entry: | as above | marshalled (key, value, headers) |

Values are decoded when they are read, because most are replaced before that. A value
that cannot be decoded must not hide the row that it would replace, so a reader that finds one reads
the topic again with `checked`, which decodes each value when it arrives.
"""

import marshal
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from duolog.core.errors import SerdeError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.planning.sources import source_schema
from duolog.plan.types import BIGINT, INT, STRING, Type
from duolog.runtime.packed.sortable_keys import SortableKeys
from duolog.runtime.sql.duck.queries import source_columns
from duolog.runtime.sql.tables.source_rows import Received, SourceRows, headers_of
from duolog.serde.row import Row

PLACE: Final = struct.Struct(">qqI")
_VALUE_AT: Final = PLACE.size
_BYTES: Final = {INT: 4, BIGINT: 8}
_FLIPPED: Final = bytes(number ^ 0x80 for number in range(256))
_NUMBER_OF_PARTITION: Final = 48
"""Bits of an offset in a number of a row."""

Headers = Sequence[tuple[str, bytes | None]]


class Undecodable(SerdeError):
    """The value of a stored record cannot be decoded."""


class Decoder(Protocol):
    """Decodes records of one topic; `SourceRows` is one."""

    def key(self, message: Received) -> Row:
        """Return the key columns.

        Raises:
            SerdeError: the bytes are not a key.
        """

    def row(self, message: Received, key: Row) -> Row | None:
        """Return the row of a record with this key; None for a null value.

        Raises:
            SerdeError: the bytes are not a value.
        """


@dataclass(frozen=True, slots=True)
class RowsForm:
    """The form of the rows of a table, as a front end declares it.

    Args:
        decoder: decodes its records.
        key_types: types of the key columns, with the bounds of a window.
        key_format: format of the keys.
        windowed: true if the key has bounds.
        needs_headers: true if headers are needed to decode a record.
        ttl_ms: time after which a row expires.
        time_at: position of the timestamp in a row, if rows expire.
    """

    decoder: Decoder
    key_types: tuple[Type, ...]
    key_format: str
    windowed: bool = False
    needs_headers: bool = False
    ttl_ms: int | None = None
    time_at: int | None = None

    @property
    def plain_type(self) -> Type | None:
        """Type of the only key column if its bytes are stored, else None."""
        if self.key_format != "KAFKA" or self.windowed or self.needs_headers:
            return None
        only = self.key_types[0] if len(self.key_types) == 1 else None
        return only if only in {STRING, *_BYTES} else None


def form_of(source: SourceInfo) -> RowsForm:
    """Return the form of a table in SQL that has one topic.

    Raises:
        SqlError: as `SourceRows`.
    """
    decoder = SourceRows(source)
    return RowsForm(
        decoder,
        tuple(column.type for column in source_schema(source).key),
        source.key_format.name,
        windowed=source.window is not None,
        needs_headers=bool(source.headers) or decoder.is_framed,
        ttl_ms=source.ttl_ms,
        time_at=[column.name for column in source_columns(source)].index("ROWTIME"),
    )


class _Record(NamedTuple):
    """A stored record."""

    key_bytes: bytes
    value_bytes: bytes
    all_headers: Headers
    time_ms: int
    offset_number: int
    partition_number: int

    def key(self) -> bytes:
        return self.key_bytes

    def value(self) -> bytes:
        return self.value_bytes

    def headers(self) -> Headers:
        return self.all_headers

    def timestamp(self) -> tuple[int, int]:
        return 1, self.time_ms

    def partition(self) -> int:
        return self.partition_number

    def offset(self) -> int:
        return self.offset_number


def number_of(entry: bytes) -> int:
    """Return a number that no other record of the topic has."""
    _, offset, partition = PLACE.unpack_from(entry)
    number: int = partition << _NUMBER_OF_PARTITION | offset
    return number


class StoredRows:
    """Converts records and rows of one table.

    Args:
        form: the form of the table.
        checked: decode each value when it arrives.
    """

    def __init__(self, form: RowsForm, *, checked: bool = False) -> None:
        self._records = form.decoder
        self._sortable = SortableKeys(form.key_types)
        self._plain = form.plain_type
        self._needs_headers = form.needs_headers
        self._size = 0 if self._plain is None else _BYTES.get(self._plain, 0)
        # A TTL needs the time of each row when it arrives.
        self.checked = checked or form.ttl_ms is not None
        self._time_at = form.time_at

    def taken(self, record: Received) -> tuple[bytes, bytes | None, int]:
        """Return key, entry and time of a record; None as the entry deletes the row.

        Raises:
            SerdeError: the key cannot be decoded or, if `checked`, the value.
        """
        key, value = record.key(), record.value()
        assert isinstance(key, bytes), key
        assert value is None or isinstance(value, bytes), value
        decoded = self._records.key(record) if self._plain is None or self.checked else ()
        stored = self._of_plain(key) if self._plain is not None else self.key(decoded)
        _, time_ms = record.timestamp()
        if value is None:
            return stored, None, time_ms
        entry = PLACE.pack(time_ms, record.offset() or 0, record.partition() or 0)
        if self.checked:
            row = self._records.row(record, decoded)
            if row is None:
                return stored, None, time_ms
            if self._time_at is not None:
                of_row = row[self._time_at]
                assert isinstance(of_row, int), of_row
                time_ms = of_row
        return stored, entry + self._rest(key, value, record), time_ms

    @property
    def takes_bytes(self) -> bool:
        """True if a record is stored as it is: key, `PLACE` and value."""
        return self._plain is not None and not (self._size or self.checked or self._needs_headers)

    def wanted_key(self, key: Row) -> bytes | None:
        """Return the bytes of a key; None if a number in it is too large, and so in no key."""
        try:
            return self.key(key)
        except (OverflowError, struct.error):
            return None

    def key(self, key: Row) -> bytes:
        """Return the bytes of a key, or of the first columns of a key with several."""
        if self._plain is None:
            return self._sortable.encode(key)
        (value,) = key
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
        assert isinstance(value, int), value
        return self._of_plain(value.to_bytes(self._size, "big", signed=True))

    def row(self, key: bytes, entry: bytes) -> Row | None:
        """Return a stored row; None if it is none after all: its key or value decodes to null.

        Raises:
            Undecodable: the value cannot be decoded.
        """
        time_ms, offset, partition = PLACE.unpack_from(entry)
        if self._plain is None:
            raw, value, headers = marshal.loads(entry[_VALUE_AT:])  # noqa: S302 - written by `_rest`
        else:
            raw = key if not self._size else bytes((_FLIPPED[key[0]],)) + key[1:]
            value, headers = entry[_VALUE_AT:], ()
        record = _Record(raw, value, headers, time_ms, offset, partition)
        try:
            row_key = self._records.key(record)
        except SerdeError:
            return None
        try:
            return self._records.row(record, row_key)
        except SerdeError as error:
            raise Undecodable(error.message, detail=error.detail) from error

    def _of_plain(self, key: bytes) -> bytes:
        if not self._size:
            return key
        if len(key) != self._size:
            raise SerdeError(f"{len(key)} bytes are not a valid {self._plain}")
        return bytes((_FLIPPED[key[0]],)) + key[1:]

    def _rest(self, key: bytes, value: bytes, record: Received) -> bytes:
        if self._plain is not None:
            return value
        headers = headers_of(record) if self._needs_headers else []
        return marshal.dumps((key, value, headers))

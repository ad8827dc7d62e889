"""The protocol of processors over the pipe between kernel and worker: bytes, big-endian numbers.

    text, bytes   length (4), -1 for none, and as many bytes

    begin    JSON, see `serving.Processors.begin`
    run      count (4), and items: kind (1), stream time (8)
             a record     timestamp (8), partition (4), offset (8), topic, headers,
                          nulls (1: 1 key, 2 value), JSON
             a time       (8), of the kind 1 (stream time) or 2 (wall clock)
    output   count (4), and for each item:
             count (4) of records: output (4), timestamp (8), headers, key, value as JSON;
             count (4) of errors: texts; then writes, the schedules (JSON), the next stream time and
             wall clock (8 each)
    writes   count (4): store, bucket (8), key, timestamp (8), value
    question 1, store, bucket (8), key   ->  timestamp (8), value
             2, store, bucket (8)        ->  count (4): key, timestamp (8), value
             3, writes                   ->  nothing

Source: the kernel's `ProcessorWire`.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from duolog.functions.processors.entries import Held, StoreKey, Writes
from duolog.functions.processors.records import Headers

RECORD: Final = 0
STREAM_TIME: Final = 1
WALL_CLOCK: Final = 2
_GET: Final = b"\x01"
_SCAN: Final = b"\x02"
_WRITE: Final = b"\x03"
_NULL_KEY: Final = 1
_NULL_VALUE: Final = 2

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_ITEM: Final = struct.Struct(">bq")
_RECORD: Final = struct.Struct(">qiq")


class Item(NamedTuple):
    """An input of a processor: a record, or a time."""

    kind: int
    stream_time: int
    time: int
    """The record's timestamp, or the time."""
    partition: int = 0
    offset: int = 0
    topic: str = ""
    headers: bytes | None = None
    null_key: bool = False
    null_value: bool = False
    data: bytes = b""


def put(data: bytes | None) -> bytes:
    """Return bytes, prefixed with their length."""
    return _INT.pack(-1) if data is None else _INT.pack(len(data)) + data


class Reader:
    """Reads a sequence of fields."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def of(self, form: struct.Struct) -> tuple[Any, ...]:
        found = form.unpack_from(self._data, self._at)
        self._at += form.size
        return found

    def integer(self) -> int:
        found: int = self.of(_INT)[0]
        return found

    def long(self) -> int:
        found: int = self.of(_LONG)[0]
        return found

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def bytes(self) -> bytes | None:
        (length,) = _INT.unpack_from(self._data, self._at)
        self._at += 4
        if length < 0:
            return None
        self._at += length
        return self._data[self._at - length : self._at]

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._data)


def read_items(payload: bytes) -> Iterator[Item]:
    """Yield the items of a run."""
    reader = Reader(payload)
    for _ in range(reader.integer()):
        kind, stream_time = reader.of(_ITEM)
        if kind != RECORD:
            yield Item(kind, stream_time, reader.long())
            continue
        timestamp, partition, offset = reader.of(_RECORD)
        topic, headers = reader.bytes(), reader.bytes()
        nulls, data = reader.byte(), reader.bytes()
        yield Item(
            kind,
            stream_time,
            timestamp,
            partition,
            offset,
            (topic or b"").decode(),
            headers,
            bool(nulls & _NULL_KEY),
            bool(nulls & _NULL_VALUE),
            data or b"",
        )


def read_headers(data: bytes | None) -> Headers:
    """Return headers from the kernel's form (`Headers`)."""
    if not data:
        return ()
    reader = Reader(data)
    found = []
    while not reader.is_at_end:
        name = reader.bytes() or b""
        found.append((name.decode(), reader.bytes()))
    return tuple(found)


def write_headers(headers: Headers) -> bytes | None:
    """Return headers in the kernel's form."""
    if not headers:
        return None
    return b"".join(put(name.encode()) + put(value) for name, value in headers)


class RemoteStores:
    """The stores of a task in the kernel's state, accessed over the pipe while the kernel waits."""

    def __init__(self, ask: Callable[[bytes], bytes]) -> None:
        self._ask = ask
        self._pending: list[bytes] = []

    def get(self, store: str, place: StoreKey) -> Held | None:
        self._send()
        bucket, key = place
        reader = Reader(self._ask(_GET + put(store.encode()) + _LONG.pack(bucket) + put(key)))
        time, data = reader.long(), reader.bytes()
        return None if data is None else Held(time, data)

    def scan(self, store: str, bucket: int) -> dict[bytes, Held]:
        self._send()
        reader = Reader(self._ask(_SCAN + put(store.encode()) + _LONG.pack(bucket)))
        found = {}
        for _ in range(reader.integer()):
            key = reader.bytes() or b""
            time, data = reader.long(), reader.bytes()
            found[key] = Held(time, data or b"")
        return found

    def write(self, store: str, writes: Writes) -> None:
        """Buffer writes until the next question, or the end of the call."""
        name = put(store.encode())
        for (bucket, key), held in writes.items():
            time, data = held or (0, None)
            row = _LONG.pack(bucket) + put(key) + _LONG.pack(time) + put(data)
            self._pending.append(name + row)

    def take(self) -> bytes:
        """Return the writes that have not been sent."""
        taken = _INT.pack(len(self._pending)) + b"".join(self._pending)
        self._pending = []
        return taken

    def _send(self) -> None:
        if self._pending:
            self._ask(_WRITE + self.take())

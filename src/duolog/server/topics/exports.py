"""Records of a topic as a file: CSV, JSON lines or Parquet, made in pieces.

    jsonl     the objects that `duolog consume -o jsonl` writes, for `duolog produce -i jsonl`
    csv       partition, offset, timestamp (RFC 3339), key, value, key_format, value_format, headers
    parquet   the same columns

In CSV, a text that a spreadsheet would run as a formula has an apostrophe before it.

A file is whole: if a limit other than the number of records ends it early, its download fails.

Threads: one at a time.
"""

import base64
import csv
import datetime as dt
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from duolog.core.errors import ServerError
from duolog.core.optional_packages import pip_install
from duolog.core.units import MIB
from duolog.runtime.browsing.budget import Budget, Limits
from duolog.runtime.browsing.decoding import Decoded, Decoder
from duolog.runtime.browsing.pages import scanned
from duolog.runtime.browsing.record import BrowsedRecord, Part
from duolog.server.access.checks import Checks
from duolog.server.errors import RequestRefused
from duolog.server.topics.browsing import Browser
from duolog.server.topics.selections import Selection

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

LIMITS: Final = Limits(records=10_000_000, bytes=1024 * MIB, seconds=600.0)
COLUMNS: Final = (
    *("partition", "offset", "timestamp", "key", "value"),
    *("key_format", "value_format", "headers"),
)
MEDIA: Final = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
_AT_ONCE: Final = 500
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Starts of formulas, in both widths, and what spreadsheets skip before them."""
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_LATEST_MS: Final = 253_402_300_799_999


class File(Protocol):
    """Makes the bytes of a file."""

    def rows(self, records: list[BrowsedRecord]) -> bytes:
        """Return the bytes of some records."""

    def end(self) -> bytes:
        """Return the bytes after the last record."""


class Export:
    """The pieces of a file; a context manager.

    Args:
        service: the SQL service of the server.
        checks: the rights of the client, for schemas.
        topic: the topic, which the client may read.
        selection: what to export.
        form: `csv`, `jsonl` or `parquet`.
        stopped: returns True if the export is to end.

    Raises:
        DuologError: see `Browser`; on `open`.
        RequestRefused: the server cannot write the form.
    """

    def __init__(
        self,
        service: "SqlService",
        checks: Checks,
        topic: str,
        selection: Selection,
        form: str,
        *,
        stopped: Callable[[], bool],
    ) -> None:
        self._browser = Browser(service, checks, topic, selection.filters, stopped)
        self._file = _FILES[form](topic, self._browser.decoder)
        self._selection = selection
        self._budget = Budget(LIMITS, stopped)
        self._pieces: Iterator[bytes] = iter(())

    def open(self) -> None:
        """Find where to begin."""
        self._browser.__enter__()
        try:
            log = self._browser.open_log(whole=True)
            merge = self._browser.merged(log, self._selection, self._budget)
        except BaseException:
            self.close()
            raise
        self._pieces = self._made(merge)

    def close(self) -> None:
        """Stop reading."""
        self._pieces = iter(())
        self._browser.__exit__()

    def next(self) -> bytes | None:
        """Return the next piece; None after the last.

        Raises:
            ExportStopped: a limit is reached before the end.
            DuologError: the topic cannot be read.
        """
        return next(self._pieces, None)

    def _made(self, merge: Any) -> Iterator[bytes]:
        left = self._selection.limit
        while left > 0:
            read = 0
            for some in scanned(merge, min(left, _AT_ONCE), self._browser.select, self._budget):
                read += some.read
                left -= len(some.records)
                yield self._file.rows(some.records)
            if not read or merge.is_done:
                break
        if left > 0 and not merge.is_done:
            raise ExportStopped(self._budget.spent)
        yield self._file.end()


class ExportStopped(ServerError):
    """An export has reached a limit of bytes or time."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "the export is too large",
            detail=f"The limit of {why or 'time'} was reached.",
            hint="Select fewer records by partition, offset, time or predicate.",
        )


class _JsonLines:
    def __init__(self, topic: str, decoder: Decoder) -> None:
        self._topic = topic
        self._decoder = decoder

    def rows(self, records: list[BrowsedRecord]) -> bytes:
        return b"".join(map(self._row, records))

    def end(self) -> bytes:
        return b""

    def _row(self, record: BrowsedRecord) -> bytes:
        members = {
            "topic": _dumped(self._topic),
            "partition": str(record.partition),
            "offset": str(record.offset),
            "timestamp": str(record.timestamp_ms) if record.timestamp_ms >= 0 else "null",
            "headers": _dumped([[name, _plain(data)] for name, data in record.headers]),
            "key": self._part("key", record.key, record),
            "value": self._part("value", record.value, record),
        }
        inner = ",".join(f'"{name}":{text}' for name, text in members.items())
        return f"{{{inner}}}\n".encode(errors="replace")

    def _part(self, which: Any, part: Part | None, record: BrowsedRecord) -> str:
        if part is None:
            return "null"
        found: Decoded = self._decoder.decoded(which, part, record.headers)
        match found.kind:
            case "json":
                # A line of the file is one line.
                return found.text.replace("\r", " ").replace("\n", " ")
            case "text":
                return _dumped(found.text)
            case _:
                return _dumped(_plain(part.data))


class _Csv:
    def __init__(self, topic: str, decoder: Decoder) -> None:
        del topic
        self._decoder = decoder
        self._begun = False

    def rows(self, records: list[BrowsedRecord]) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text)
        if not self._begun:
            self._begun = True
            writer.writerow(COLUMNS)
        for one in records:
            row = _columns(one, self._decoder)
            row["timestamp"] = _moment(one.timestamp_ms)
            writer.writerow([inert(row[name]) for name in COLUMNS])
        return text.getvalue().encode(errors="replace")

    def end(self) -> bytes:
        return b"" if self._begun else self.rows([])


def inert(cell: object) -> object:
    """Return a cell that no spreadsheet runs as a formula; numbers stay as they are.

    Source: OWASP, "CSV Injection".

    Example:
        >>> inert("=1+1"), inert("-5.2e3"), inert("a=b"), inert(7)
        ("'=1+1", '-5.2e3', 'a=b', 7)
    """
    runs = isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if runs else cell


class _Parquet:
    def __init__(self, topic: str, decoder: Decoder) -> None:
        try:
            import pyarrow as pa  # noqa: PLC0415 - an extra
            import pyarrow.parquet as pq  # noqa: PLC0415 - as above
        except ImportError as error:
            raise RequestRefused(
                f"Parquet needs a package on the server: {pip_install('pyarrow')}"
            ) from error
        del topic
        self._decoder = decoder
        self._pa = pa
        self._sink = _Sink()
        text = pa.string()
        types = (pa.int32(), pa.int64(), pa.timestamp("ms", "UTC"), text, text, text, text, text)
        self._schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
        self._writer = pq.ParquetWriter(pa.PythonFile(self._sink, mode="w"), self._schema)

    def rows(self, records: list[BrowsedRecord]) -> bytes:
        if records:
            rows = [_columns(one, self._decoder) for one in records]
            self._writer.write_table(self._pa.Table.from_pylist(rows, self._schema))
        return self._sink.taken()

    def end(self) -> bytes:
        self._writer.close()
        return self._sink.taken()


class _Sink(io.RawIOBase):
    """A file whose bytes are taken while they are written."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._kept.append(bytes(data))
        self._at += len(self._kept[-1])
        return len(self._kept[-1])

    def tell(self) -> int:
        return self._at

    def taken(self) -> bytes:
        kept, self._kept = self._kept, []
        return b"".join(kept)


_FILES: Final[dict[str, Callable[[str, Decoder], File]]] = {
    "csv": _Csv,
    "jsonl": _JsonLines,
    "parquet": _Parquet,
}


def _columns(record: BrowsedRecord, decoder: Decoder) -> dict[str, Any]:
    key, value = record.key, record.value
    of_key = None if key is None else decoder.decoded("key", key, record.headers)
    of_value = None if value is None else decoder.decoded("value", value, record.headers)
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms if 0 <= record.timestamp_ms <= _LATEST_MS else None,
        "key": None if of_key is None else of_key.text,
        "value": None if of_value is None else of_value.text,
        "key_format": None if of_key is None else of_key.form,
        "value_format": None if of_value is None else of_value.form,
        "headers": _dumped([[name, _plain(data)] for name, data in record.headers]),
    }


def _plain(data: bytes | None) -> object:
    """Return bytes as `duolog consume -o jsonl` writes them."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _moment(ms: int) -> str:
    if not 0 <= ms <= _LATEST_MS:
        return ""
    at = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=ms)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"

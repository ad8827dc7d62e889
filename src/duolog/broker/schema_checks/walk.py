"""Find the frames of all records in a batch.

This walks the bytes instead of decoding records: it is most of the cost of the check. A record is
read by itself, then those after it that are like it are counted together, see `alike.py` and
`similar.py`. After attempts that found few, more and more records are read before the next one.

Source: Kafka `DefaultRecord`.
"""

from typing import Final, NamedTuple

from duolog.broker.schema_checks.alike import Layout, count_alike
from duolog.broker.schema_checks.frames import ID_BYTES, frame_at, is_whole
from duolog.broker.schema_checks.headers import frames_in_headers
from duolog.broker.schema_checks.settings import SchemaChecks
from duolog.broker.schema_checks.similar import count_similar
from duolog.broker.schema_checks.varints import read_zigzag
from duolog.record.batch import HEADER_BYTES, read_header
from duolog.record.compression import decompress
from duolog.record.errors import CorruptBatch, InvalidRecord
from duolog.record.records import RECORDS_READ_MAX
from duolog.schemas.subject_names import SubjectStrategy

_NO_HEADERS: Final = (None, None)
_ID_ZIGZAG: Final = 2 * ID_BYTES
"""The length of the shortest part with an id, as encoded."""
_ALIKE_MIN: Final = 16
"""Fewer records together are not worth the attempt."""
_SIMILAR_MIN: Final = 128
_PAUSE_MAX: Final = 1024

Spans = list[tuple[int, int]]
"""Indexes of records: from, up to."""
Found = dict[bytes, Spans]
"""The records of each frame."""


class Frames(NamedTuple):
    """The frames in the checked parts of a batch; None for a part that is not checked."""

    keys: Found | None
    values: Found | None


def frames_of(batch: memoryview, checks: SchemaChecks, plain_bytes_max: int | None) -> Frames:
    """Return the frames of a batch whose checksum is right.

    Raises:
        InvalidRecord: the records cannot be read, or are too many.
    """
    header = read_header(batch)
    count = header.records_count
    if count > RECORDS_READ_MAX:
        raise InvalidRecord(
            f"record batch has {count} records, and the broker reads {RECORDS_READ_MAX} at most",
            hint="Send smaller batches to a topic whose schema ids are checked.",
        )
    payload = batch[HEADER_BYTES : header.size_bytes]
    try:
        plain = bytes(decompress(header.compression, payload, plain_bytes_max))
        return _walk(plain, count, checks)
    except (IndexError, CorruptBatch) as error:
        # The checksum was right, so the client made it so.
        raise InvalidRecord("records of the batch cannot be read", detail=str(error)) from error


def _walk(plain: bytes, count: int, checks: SchemaChecks) -> Frames:  # noqa: PLR0912, PLR0915 - the hot loop
    keys, values = _Runs(checks.key), _Runs(checks.value)
    checks_keys, checks_values = checks.key is not None, checks.value is not None
    key_id = value_id = None
    first, position, size, pause = 0, 0, len(plain), 1
    while first < count:
        for index in range(first, min(first + pause, count)):
            start = position
            length = plain[position]
            position += 1
            if length > 0x7F:
                length += (plain[position] << 7) - 0x80
                position += 1
                if length > 0x3FFF:
                    length, position = read_zigzag(plain, start)
            numbers_at = position + 1  # After the attributes.
            end = position + (length >> 1)
            if length & 1 or end > size:
                raise CorruptBatch("record is cut off")
            position = numbers_at
            while plain[position] > 0x7F:
                position += 1
            position += 1
            while plain[position] > 0x7F:
                position += 1
            key_length_at = position + 1
            key_length = plain[key_length_at]
            key_at = key_length_at + 1
            if key_length > 0x7F:
                key_length, key_at = read_zigzag(plain, key_length_at)
            value_length_at = key_at if key_length & 1 else key_at + (key_length >> 1)
            value_length = plain[value_length_at]
            value_at = value_length_at + 1
            if value_length > 0x7F:
                value_length += (plain[value_at] << 7) - 0x80
                value_at += 1
                if value_length > 0x3FFF:
                    value_length, value_at = read_zigzag(plain, value_length_at)
            position = value_at if value_length & 1 else value_at + (value_length >> 1)
            if position >= end:
                raise CorruptBatch("record is cut off")
            headers = plain[position]
            named = frames_in_headers(plain, position, end) if headers else _NO_HEADERS
            if checks_keys and (
                headers or key_length < _ID_ZIGZAG or plain[key_at : key_at + ID_BYTES] != key_id
            ):
                key_id = keys.see(plain, key_at, key_length, named[0], index)
            if checks_values and (
                headers
                or value_length < _ID_ZIGZAG
                or plain[value_at : value_at + ID_BYTES] != value_id
            ):
                value_id = values.see(plain, value_at, value_length, named[1], index)
            headers_at, position = position, end
        alike, pays = 0, False
        if not headers and keys.same_bytes >= 0 and values.same_bytes >= 0:
            same = (
                slice(start, numbers_at - 1),
                slice(key_length_at, key_at + keys.same_bytes),
                slice(value_length_at, value_at + values.same_bytes),
                slice(headers_at, headers_at + 1),
            )
            layout = Layout(start, end, value_at, same, slice(numbers_at, key_length_at))
            alike, position, pays = _count_after(plain, layout, count - index - 1)
        pause = 1 if pays else min(2 * pause, _PAUSE_MAX)
        first = index + 1 + alike
    if position != size:
        raise CorruptBatch("record batch has bytes after its last record")
    return Frames(keys.end(count), values.end(count))


def _count_after(plain: bytes, layout: Layout, most: int) -> tuple[int, int, bool]:
    """Return how many records after one have its frames for sure, and where the last one ends.

    And whether that was faster than to read these records one by one.
    """
    alike = count_alike(plain, layout, most)
    if alike >= min(_ALIKE_MIN, most):
        return alike, layout.end + alike * (layout.end - layout.start), True
    similar, position = count_similar(plain, layout, most)
    return similar, position, similar >= _SIMILAR_MIN


class _Runs:
    """Consecutive keys or values of one frame, collected by frame."""

    __slots__ = ("_checked", "_found", "_frame", "_known", "_names_record", "_start", "same_bytes")

    def __init__(self, strategy: SubjectStrategy | None) -> None:
        self._checked = strategy is not None
        self._names_record = strategy is not None and strategy.names_records
        self._found: Found = {}
        self._frame: bytes | None = None
        self._start = 0
        self._known: bytes | None = None
        self.same_bytes = 0
        """How many bytes at the start of the last one gave it its frame, if its length is the same;
        -1 if more than these have a part in it."""

    def see(
        self, plain: bytes, start: int, length: int, header: bytes | None, index: int
    ) -> bytes | None:
        """Note the frame of a key or value; `length` is zigzag-encoded, odd if it is null.

        Returns:
            The bytes with which the next one, if it has them all, is of the same frame; or None.
        """
        if length & 1:
            frame = None
        elif header is not None:
            frame = header
        else:
            frame = frame_at(plain, start, length >> 1, names_record=self._names_record)
        if frame != self._frame:
            self._begin(frame, index)
        return self._known

    def end(self, count: int) -> Found | None:
        """Return the records of each frame, of `count` records; None if they are not checked."""
        self._begin(None, count)
        return self._found if self._checked else None

    def _begin(self, frame: bytes | None, index: int) -> None:
        """Note that the records from `index` on have another frame, or none."""
        if self._frame is not None:
            self._found.setdefault(self._frame, []).append((self._start, index))
        self._frame, self._start = frame, index
        self.same_bytes, self._known = 0, None
        if frame is not None:
            whole = is_whole(frame, names_record=self._names_record)
            self.same_bytes = len(frame) if whole else -1
            if whole and len(frame) == ID_BYTES:
                self._known = frame

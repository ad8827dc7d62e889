"""The walk over a batch finds the schema ids that decoding its records finds."""

from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.broker.schema_checks.frames import UNFRAMED, message_indexes, schema_key
from duolog.broker.schema_checks.settings import SchemaChecks
from duolog.broker.schema_checks.walk import Found, frames_of
from duolog.record import Compression, Record, encode_batch
from duolog.record.batch import HEADER_BYTES
from duolog.record.errors import InvalidRecord
from duolog.schemas.subject_names import SubjectStrategy

if TYPE_CHECKING:
    from duolog.record.records import RecordHeaders

TOPIC, RECORD = SubjectStrategy.TOPIC_NAME, SubjectStrategy.RECORD_NAME
BOTH = SchemaChecks(TOPIC, TOPIC)
GUID = UUID("00112233-4455-6677-8899-aabbccddeeff")
VALUE_HEADER = "__value_schema_id"
KEY_HEADER = "__key_schema_id"


def framed(schema_id: int, payload: bytes = b"payload") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + payload


def value_frames(*values: bytes | None, strategy: SubjectStrategy = TOPIC) -> Found:
    records = [Record(0, 1, b"k", value) for value in values]
    return values_of(records, strategy)


def values_of(records: list[Record], strategy: SubjectStrategy = TOPIC) -> Found:
    batch = memoryview(encode_batch(records))
    found = frames_of(batch, SchemaChecks(None, strategy), None)
    assert found.keys is None
    assert found.values is not None
    return found.values


def test_equal_ids_are_one_frame_with_the_records_that_have_it() -> None:
    found = value_frames(framed(1), framed(1), framed(2), framed(1))

    assert found == {framed(1, b""): [(0, 2), (3, 4)], framed(2, b""): [(2, 3)]}
    assert [schema_key(frame) for frame in found] == [1, 2]


@pytest.mark.parametrize("value", [b"", b"\0\0\0\1", b"\1\0\0\0\1x", b"{}", b"\0"])
def test_bytes_without_a_schema_id_are_unframed(value: bytes) -> None:
    assert value_frames(value) == {UNFRAMED: [(0, 1)]}


def test_ids_and_guids_are_found_in_the_bytes_and_in_headers() -> None:
    in_bytes = Record(0, 1, None, b"\1" + GUID.bytes + b"payload")
    in_header = Record(0, 1, None, b"payload", ((VALUE_HEADER, framed(7, b"")),))

    found = values_of([in_bytes, in_header])

    assert [schema_key(frame) for frame in found] == [str(GUID), 7]


def test_a_null_value_has_no_frame() -> None:
    assert value_frames(None, framed(3), None, framed(3)) == {framed(3, b""): [(1, 2), (3, 4)]}


def test_a_guid_in_a_header_comes_before_the_bytes() -> None:
    headers: RecordHeaders = (("other", None), (VALUE_HEADER, b"\1" + GUID.bytes))

    found = values_of([Record(0, 1, None, b"payload", headers)])

    (frame,) = found
    assert schema_key(frame) == str(GUID)


@pytest.mark.parametrize("content", [None, b"", b"\1short", b"\2" + GUID.bytes])
def test_a_header_with_something_else_is_unframed(content: bytes | None) -> None:
    found = values_of([Record(0, 1, None, framed(1), ((VALUE_HEADER, content),))])

    assert found == {UNFRAMED: [(0, 1)]}


def test_the_header_of_the_key_is_not_that_of_the_value() -> None:
    record = Record(0, 1, b"key", framed(1), ((KEY_HEADER, b"\1" + GUID.bytes),))
    batch = memoryview(encode_batch([record]))

    found = frames_of(batch, BOTH, None)

    assert found.values == {framed(1, b""): [(0, 1)]}
    assert found.keys is not None
    assert [schema_key(frame) for frame in found.keys] == [str(GUID)]


def test_message_indexes_belong_to_the_frame_if_the_subject_names_the_record() -> None:
    first = framed(1, b"\0rest")
    nested = framed(1, b"\4\2\0rest")

    assert [message_indexes(frame) for frame in value_frames(first, nested, strategy=RECORD)] == [
        (0,),
        (1, 0),
    ]
    assert len(value_frames(first, nested)) == 1


def test_a_payload_that_is_no_message_indexes_does_not_matter() -> None:
    endless = framed(1, b"\xff" * 100)

    (frame,) = value_frames(endless, framed(1, b""), strategy=RECORD)

    assert (schema_key(frame), message_indexes(frame)) == (1, (0,))


PARTS = st.one_of(
    st.none(),
    st.binary(max_size=12),
    st.builds(framed, st.integers(0, 3), st.binary(max_size=300)),
    st.binary(max_size=3).map(lambda payload: b"\1" + GUID.bytes + payload),
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from([KEY_HEADER, VALUE_HEADER, "x"]),
        st.one_of(
            st.none(), st.binary(max_size=4), st.just(b"\1" + GUID.bytes), st.just(framed(9, b""))
        ),
    ),
    max_size=3,
).map(tuple)
RECORDS = st.builds(Record, st.just(0), st.integers(0, 2**40), PARTS, PARTS, HEADERS)


def expected(records: list[Record], *, is_key: bool) -> list[bytes | None]:
    """Return the frame of each record, from what a decoder of records returns."""
    frames: list[bytes | None] = []
    for record in records:
        part = record.key if is_key else record.value
        named = [v for k, v in record.headers if k == (KEY_HEADER if is_key else VALUE_HEADER)]
        if part is None:
            frames.append(None)
        elif named:
            frames.append(frame_in(named[-1] or b""))
        else:
            frames.append(frame_in(part))
    return frames


def frame_in(data: bytes) -> bytes:
    if data[:1] == b"\1" and len(data) >= 17:
        return data[:17]
    return data[:5] if data[:1] == b"\0" and len(data) >= 5 else UNFRAMED


def spread(found: Found | None, count: int) -> list[bytes | None]:
    assert found is not None
    frames: list[bytes | None] = [None] * count
    for frame, spans in found.items():
        for start, end in spans:
            frames[start:end] = [frame] * (end - start)
    return frames


@given(st.lists(RECORDS, min_size=1, max_size=12), st.sampled_from(list(Compression)))
def test_the_walk_finds_what_a_decoder_finds(records: list[Record], codec: Compression) -> None:
    batch = memoryview(encode_batch(records, compression=codec))

    found = frames_of(batch, BOTH, None)

    assert spread(found.keys, len(records)) == expected(records, is_key=True)
    assert spread(found.values, len(records)) == expected(records, is_key=False)


@given(st.lists(RECORDS, min_size=1, max_size=4), st.data())
def test_damaged_records_are_refused_or_walked_and_never_an_error(
    records: list[Record], data: st.DataObject
) -> None:
    batch = encode_batch(records)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
        batch[place] = data.draw(st.integers(0, 255))

    try:
        found = frames_of(memoryview(batch), SchemaChecks(RECORD, RECORD), None)
    except InvalidRecord:
        return
    for frames in (found.keys or {}, found.values or {}):
        for frame in frames:
            if frame != UNFRAMED:
                schema_key(frame)
                message_indexes(frame)

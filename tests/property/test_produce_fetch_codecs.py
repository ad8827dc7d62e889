"""The hand-written codecs agree with kio, for every version and any content."""

import io
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from duolog.broker.event_loop.time_slices import at_once
from duolog.protocol import fetch, produce
from duolog.protocol.encoder import encoder
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.fetch import FetchResult
from duolog.protocol.messages import entity_type
from duolog.protocol.produce import ProduceResult
from duolog.protocol.produce_single import read_single, single_answer

names = st.text(min_size=1, max_size=200)
int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
texts = st.none() | st.text(max_size=200)
# Times are what kio takes: they pass through a datetime there.
times = st.just(-1) | st.integers(0, 4_000_000_000_000)
errors = st.sampled_from([0, 2, 10, 87, -1])


def kio_bytes(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def plain_bytes(key: int, version: int, kind: str, values: dict[str, Any]) -> bytes:
    """Write by the compiled encoder, and see that kio reads and writes the same bytes."""
    type_ = entity_type(key, version, kind)
    data = encoder(type_)(values)
    entity, size = entity_reader(type_)(data, 0)
    assert size == len(data)
    assert kio_bytes(entity) == data
    return data


produce_data = st.lists(st.tuples(int32, st.none() | st.binary(max_size=300)), max_size=3)
produce_topics = st.lists(st.tuples(names, produce_data), max_size=3)


@pytest.mark.parametrize("version", produce.VERSIONS)
@given(
    transactional_id=texts, acks=int16, timeout_ms=st.integers(0, 2**31 - 1), topics=produce_topics
)
def test_a_produce_request_is_read_as_kio_wrote_it(
    version: int,
    transactional_id: str | None,
    acks: int,
    timeout_ms: int,
    topics: list[tuple[str, list[tuple[int, bytes | None]]]],
) -> None:
    data = plain_bytes(
        0,
        version,
        "request",
        {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout": timeout_ms,
            "topic_data": [
                {
                    "name": name,
                    "partition_data": [{"index": i, "records": records} for i, records in rows],
                }
                for name, rows in topics
            ],
        },
    )

    request = at_once(produce.reading_produce_request(memoryview(b"head" + data), 4, version))

    assert request.transactional_id == (
        transactional_id.encode() if transactional_id is not None else None
    )
    assert (request.acks, request.timeout_ms) == (acks, timeout_ms)
    assert [
        (name.decode(), [tuple(row) for row in rows]) for name, rows in request.topics
    ] == topics


@pytest.mark.parametrize("version", [3, 9, 12])
@given(data=st.data())
def test_a_produce_request_that_is_cut_off_anywhere_is_malformed(
    version: int, data: st.DataObject
) -> None:
    whole = plain_bytes(
        0,
        version,
        "request",
        {
            "acks": -1,
            "timeout": 1000,
            "topic_data": [
                {"name": "orders", "partition_data": [{"index": 0, "records": b"x" * 100}]}
            ],
        },
    )
    cut = data.draw(st.integers(0, len(whole) - 1), label="bytes that are there")

    with pytest.raises(MalformedRequest):
        at_once(produce.reading_produce_request(memoryview(whole[:cut]), 0, version))


@pytest.mark.parametrize("version", range(9, 13))
@given(
    transactional_id=st.none() | texts,
    acks=int16,
    topics=st.lists(
        st.tuples(
            st.text(max_size=70),
            st.lists(st.tuples(int32, st.none() | st.binary(max_size=300)), max_size=2),
        ),
        min_size=1,
        max_size=2,
    ),
    damage=st.tuples(st.integers(0, 40), st.binary(max_size=3)),
)
def test_the_usual_request_is_read_as_any_other_or_left_alone(
    version: int,
    transactional_id: str | None,
    acks: int,
    topics: list[tuple[str, list[tuple[int, bytes | None]]]],
    damage: tuple[int, bytes],
) -> None:
    data = plain_bytes(
        0,
        version,
        "request",
        {
            "transactional_id": transactional_id,
            "acks": acks,
            "topic_data": [
                {
                    "name": name,
                    "partition_data": [{"index": i, "records": records} for i, records in rows],
                }
                for name, rows in topics
            ],
        },
    )
    cut, rest = damage
    damaged = data[: len(data) - cut] + rest if cut else data
    single = read_single(memoryview(b"head" + damaged), 4)

    usual = (
        not cut
        and transactional_id is None
        and len(topics) == len(topics[0][1]) == 1
        and len(topics[0][0].encode()) < 127
        and len(topics[0][1][0][1] or b"") >= 127
    )
    assert (single is not None) >= usual
    if single is not None:
        request = at_once(produce.reading_produce_request(memoryview(damaged), 0, version))
        acks_read, name, index, records = single
        assert request.transactional_id is None
        assert request.acks == acks_read
        assert request.topics == [(name, [(index, records)])]


@given(name=st.text(max_size=40), correlation_id=int32, index=int32, base_offset=int64, start=int64)
def test_a_cached_answer_has_the_same_bytes_as_an_encoded_one(
    name: str, correlation_id: int, index: int, base_offset: int, start: int
) -> None:
    result = ProduceResult(index, 0, base_offset, -1, start)
    topics = [(name.encode(), [result])]

    answer = single_answer(name.encode())(correlation_id, index, base_offset, start)

    assert answer == produce.write_produce_response(9, correlation_id, topics)


results = st.builds(
    ProduceResult,
    partition=int32,
    error_code=errors,
    base_offset=int64,
    log_append_time_ms=times,
    log_start_offset=int64,
    record_errors=st.lists(st.tuples(int32, texts), max_size=2).map(tuple),
    error_message=texts,
)


@pytest.mark.parametrize("version", produce.VERSIONS)
@given(topics=st.lists(st.tuples(names, st.lists(results, max_size=3)), max_size=3))
def test_a_produce_response_has_the_bytes_that_the_schema_gives(
    version: int, topics: list[tuple[str, list[ProduceResult]]]
) -> None:
    # A result without an error has no message: the short form for one partition relies on it.
    topics = [
        (
            name,
            [
                row if row.error_code else row._replace(record_errors=(), error_message=None)
                for row in rows
            ],
        )
        for name, rows in topics
    ]

    frame = produce.write_produce_response(
        version, 7, [(name.encode(), rows) for name, rows in topics]
    )

    expected = plain_bytes(
        0,
        version,
        "response",
        {
            "responses": [
                {
                    "name": name,
                    "partition_responses": [
                        {
                            "index": row.partition,
                            "error_code": row.error_code,
                            "base_offset": row.base_offset,
                            "log_append_time": row.log_append_time_ms,
                            "log_start_offset": row.log_start_offset,
                            "record_errors": [
                                {"batch_index": i, "batch_index_error_message": text}
                                for i, text in row.record_errors
                            ],
                            "error_message": row.error_message,
                        }
                        for row in rows
                    ],
                }
                for name, rows in topics
            ]
        },
    )
    head = (7).to_bytes(4) + (b"\0" if version >= 9 else b"")
    assert frame == (len(head) + len(expected)).to_bytes(4) + head + expected


fetch_partitions = st.lists(st.tuples(int32, int32, int64, int32, int32), max_size=3)


@pytest.mark.parametrize("version", fetch.VERSIONS)
@given(
    head=st.tuples(st.integers(0, 2**31 - 1), int32, int32, st.integers(0, 1), int32, int32),
    topics=st.lists(st.tuples(names, st.uuids(), fetch_partitions), max_size=3),
)
def test_a_fetch_request_is_read_as_kio_wrote_it(
    version: int,
    head: tuple[int, int, int, int, int, int],
    topics: list[tuple[str, UUID, list[tuple[int, int, int, int, int]]]],
) -> None:
    max_wait_ms, bytes_min, bytes_max, isolation, session_id, session_epoch = head
    data = plain_bytes(
        1,
        version,
        "request",
        {
            "max_wait": max_wait_ms,
            "min_bytes": bytes_min,
            "max_bytes": bytes_max,
            "isolation_level": isolation,
            "session_id": session_id,
            "session_epoch": session_epoch,
            "topics": [
                {
                    "topic": name,
                    "topic_id": id_,
                    "partitions": [
                        {
                            "partition": i,
                            "current_leader_epoch": epoch,
                            "fetch_offset": offset,
                            "last_fetched_epoch": fetched,
                            "partition_max_bytes": limit,
                        }
                        for i, epoch, offset, fetched, limit in rows
                    ],
                }
                for name, id_, rows in topics
            ],
            "forgotten_topics_data": [],
        },
    )

    request = fetch.read_fetch_request(memoryview(b"head" + data), 4, version)

    assert request[:3] == (max_wait_ms, bytes_min, bytes_max)
    assert request.read_committed == (isolation == 1)
    if version >= 7:
        assert (request.session_id, request.session_epoch) == (session_id, session_epoch)
    expected = [
        (
            id_ if version >= 13 else name.encode(),
            [
                (i, epoch if version >= 9 else -1, offset, fetched if version >= 12 else -1, limit)
                for i, epoch, offset, fetched, limit in rows
            ],
        )
        for name, id_, rows in topics
    ]
    assert [(key, [tuple(row) for row in rows]) for key, rows in request.topics] == expected


fetch_results = st.builds(
    lambda partition, error, high, stable, start, records: FetchResult[bytes](
        partition, error, high, stable, start, records, len(records or b"")
    ),
    int32,
    errors,
    int64,
    int64,
    int64,
    st.none() | st.binary(max_size=300),
)


@pytest.mark.parametrize("version", fetch.VERSIONS)
@given(
    topics=st.lists(st.tuples(names, st.uuids(), st.lists(fetch_results, max_size=3)), max_size=3),
    read_committed=st.booleans(),
)
def test_the_pieces_of_a_fetch_response_join_to_the_bytes_that_the_schema_gives(
    version: int,
    topics: list[tuple[str, UUID, list[FetchResult[bytes]]]],
    read_committed: bool,  # noqa: FBT001
) -> None:
    pieces = at_once(
        fetch.writing_fetch_response(
            version,
            7,
            [(id_ if version >= 13 else name.encode(), rows) for name, id_, rows in topics],
            read_committed=read_committed,
        )
    )

    expected = plain_bytes(
        1,
        version,
        "response",
        {
            "session_id": 0,
            "responses": [
                {
                    "topic": name,
                    "topic_id": id_,
                    "partitions": [
                        {
                            "partition_index": row.partition,
                            "error_code": row.error_code,
                            "high_watermark": row.high_watermark,
                            "last_stable_offset": row.last_stable_offset,
                            "log_start_offset": row.log_start_offset,
                            "aborted_transactions": [] if read_committed else None,
                            "preferred_read_replica": -1,
                            "records": row.records or b"",
                        }
                        for row in rows
                    ],
                }
                for name, id_, rows in topics
            ],
        },
    )
    head = (7).to_bytes(4) + (b"\0" if version >= 12 else b"")
    assert b"".join(pieces) == (len(head) + len(expected)).to_bytes(4) + head + expected

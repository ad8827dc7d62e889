"""Metadata and ApiVersions, written by hand, agree with kio in every version."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader

from duolog.protocol import api_versions, metadata
from duolog.protocol.encoder import encoder
from duolog.protocol.messages import entity_type
from duolog.protocol.metadata import BrokerRow, TopicQuestion, TopicRow

names = st.text(min_size=1, max_size=200)
int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)


def expected_topic(row: TopicRow, node_id: int) -> dict[str, Any]:
    return {
        "error_code": row.error_code,
        "name": row.name,
        "topic_id": row.topic_id,
        "is_internal": row.internal,
        "topic_authorized_operations": row.operations,
        "partitions": [
            {
                "error_code": 5 if index in row.offline else 0,
                "partition_index": index,
                "leader_id": -1 if index in row.offline else node_id,
                "leader_epoch": epoch,
                "replica_nodes": [node_id],
                "isr_nodes": [] if index in row.offline else [node_id],
                "offline_replicas": [node_id] if index in row.offline else [],
            }
            for index, epoch in enumerate(row.leader_epochs)
        ],
    }


topic_rows = st.builds(
    TopicRow,
    name=names,
    topic_id=st.uuids(),
    leader_epochs=st.lists(int32, max_size=3),
    internal=st.booleans(),
    error_code=st.sampled_from([0, 3, 17]),
    operations=int32,
    offline=st.sets(st.integers(0, 2)),
)


@pytest.mark.parametrize("version", metadata.VERSIONS)
@given(
    broker=st.builds(BrokerRow, int32, names, int32, st.none() | names),
    cluster_id=names,
    topics=st.lists(topic_rows, max_size=3),
    operations=int32,
)
def test_a_metadata_response_has_the_bytes_that_the_schema_gives(
    version: int, broker: BrokerRow, cluster_id: str, topics: list[TopicRow], operations: int
) -> None:
    body = metadata.metadata_response_start(version, broker, cluster_id, len(topics))
    body += b"".join(metadata.write_topic(version, row, broker.node_id) for row in topics)
    body += metadata.metadata_response_end(version, operations=operations)

    type_ = entity_type(3, version, "response")
    expected = encoder(type_)(
        {
            "brokers": [broker._asdict()],
            "cluster_id": cluster_id,
            "controller_id": broker.node_id,
            "cluster_authorized_operations": operations,
            "topics": [expected_topic(row, broker.node_id) for row in topics],
        }
    )
    assert body == expected
    entity, size = entity_reader(type_)(body, 0)
    assert size == len(body)
    assert [topic.name for topic in entity.topics] == [row.name for row in topics]


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_that_is_unknown_by_its_id_has_no_name(version: int) -> None:
    row = TopicRow(None, UUID(int=7), error_code=100)

    body = metadata.metadata_response_start(version, BrokerRow(0, "127.0.0.1", 9092), "c", 1)
    body += metadata.write_topic(version, row, 0) + metadata.metadata_response_end(version)

    entity, _ = entity_reader(entity_type(3, version, "response"))(body, 0)
    assert entity.topics[0].name is None
    assert entity.topics[0].topic_id == UUID(int=7)


@pytest.mark.parametrize("version", metadata.VERSIONS)
@given(
    topics=st.none() | st.lists(st.tuples(names, st.uuids()), max_size=3),
    auto_create=st.booleans(),
)
def test_a_metadata_request_is_read_as_kio_wrote_it(
    version: int,
    topics: list[tuple[str, UUID]] | None,
    auto_create: bool,  # noqa: FBT001
) -> None:
    if topics is None and version == 0:
        topics = []
    data = encoder(entity_type(3, version, "request"))(
        {
            "topics": None
            if topics is None
            else [{"name": name, "topic_id": id_} for name, id_ in topics],
            "allow_auto_topic_creation": auto_create,
        }
    )

    request = metadata.read_metadata_request(memoryview(data), version)

    everything = topics is None or (version == 0 and not topics)
    questions = [TopicQuestion(name, id_ if version >= 10 else None) for name, id_ in topics or ()]
    assert request.topics == (None if everything else questions)
    assert request.auto_create == (auto_create if version >= 4 else True)


def feature_fields(version: int, features: list[api_versions.Feature]) -> dict[str, Any]:
    supported = [{"name": row.name, "min_version": 0, "max_version": row.level} for row in features]
    return {
        **({"supported_features": supported} if version >= 4 else {}),
        "finalized_features_epoch": 0,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, level in features
        ],
    }


@pytest.mark.parametrize("version", api_versions.VERSIONS)
@given(
    rows=st.lists(st.tuples(int16, st.integers(0, 5), st.integers(1, 9)), max_size=5),
    features=st.lists(
        st.builds(api_versions.Feature, st.text(max_size=200), st.integers(1, 99)), max_size=3
    ),
)
def test_an_api_versions_response_has_the_bytes_that_the_schema_gives(
    version: int, rows: list[tuple[int, int, int]], features: list[api_versions.Feature]
) -> None:
    apis = [(key, range(low, low + count)) for key, low, count in rows]

    body = api_versions.write_api_versions(version, apis, features)

    expected = encoder(entity_type(18, version, "response"))(
        {
            "api_keys": [
                {"api_key": key, "min_version": served[0], "max_version": served[-1]}
                for key, served in apis
            ],
            **(feature_fields(version, features) if features else {}),
        }
    )
    assert body == expected


def test_a_version_that_is_not_served_is_answered_with_kafkas_bytes() -> None:
    """As Apache Kafka 4.1 answers ApiVersions 5, without its correlation id."""
    assert api_versions.write_unsupported_version().hex() == "002300000001001200000004"

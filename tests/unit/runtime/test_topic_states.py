"""States of topics as a broker reports them."""

import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicCollection, Uuid
from confluent_kafka.admin import AdminClient, NewTopic, TopicDescription

from duolog.runtime.topic_states import topic_id_of
from duolog.testing.cluster import EmbeddedCluster
from waiting import DEADLINE_S


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdminClient]:
    with EmbeddedCluster(tmp_path_factory.mktemp("states") / "broker") as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(DEADLINE_S)
        yield admin


def references(described: TopicDescription) -> int:
    return sys.getrefcount(described.topic_id)


def described(admin: AdminClient) -> TopicDescription:
    found: TopicDescription = admin.describe_topics(TopicCollection(["t"]))["t"].result(DEADLINE_S)
    return found


def free_id() -> TopicDescription:
    """Return a description whose id nothing else refers to."""
    return TopicDescription("t", Uuid(1, 2), is_internal=False, partitions=[])


def test_an_id_is_freed_with_its_description(admin: AdminClient) -> None:
    one = described(admin)

    found = topic_id_of(one)

    assert found == str(one.topic_id)
    assert references(one) == references(free_id())


def test_an_id_that_the_client_does_not_keep_is_left_alone() -> None:
    one = free_id()

    assert topic_id_of(one) == topic_id_of(one) == str(one.topic_id)
    assert references(one) == references(free_id())

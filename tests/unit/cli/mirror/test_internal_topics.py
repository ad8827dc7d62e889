"""The topics that belong to the cluster, and are not copied."""

from pathlib import Path

import pytest

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.mirror.internal_topics import is_of_the_cluster, topics_of_applications
from duolog.engine.changelog.commit_topic import CommitTopic
from duolog.engine.settings import EngineConfig
from duolog.runtime import orphaned_topics


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("__consumer_offsets", True),
        ("__security", True),
        ("__transaction_state", True),
        ("__debezium-heartbeat.shop", False),
        ("__mine", False),
        ("orders", False),
    ],
)
def test_only_topics_of_kafka_belong_to_the_cluster(topic: str, *, internal: bool) -> None:
    assert is_of_the_cluster(topic) is internal


FIRST_RECORDS = {
    "shop-commits": [("application", b"{}"), ("epoch", b"{}"), ("generations", b"{}")],
    "shop-epochs": [("owner", b"{}"), ("epoch", b"{}")],
    "users-commits": [("epoch", b"{}"), ("4711", b"{}")],
    "empty-commits": [],
}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics that were read completely; the others have FIRST_RECORDS."""
    found: list[str] = []

    def records_in(
        topic: str, options: object, application_id: str, records_max: int | None = None
    ) -> list[tuple[str, bytes]]:
        del options, application_id
        if records_max is None or records_max > 100:
            found.append(topic)
        return FIRST_RECORDS[topic]

    def read_applications(topic: CommitTopic) -> list[object]:
        found.append(topic.name)
        return []

    monkeypatch.setattr(orphaned_topics, "records_in", records_in)
    monkeypatch.setattr(CommitTopic, "read_applications", read_applications)
    return found


def test_topics_of_users_with_names_like_internal_ones_are_not_read_completely(
    read: list[str],
) -> None:
    there = {"users-commits": 1, "orders-commits": 6, "empty-commits": 1}

    assert topics_of_applications(Cluster("127.0.0.1:1", {}), there) == {}
    assert read == []


@pytest.mark.parametrize("topic", ["shop-commits", "shop-epochs"])
def test_commit_and_marker_topics_are_recognized_by_their_first_records(
    read: list[str], topic: str
) -> None:
    config = EngineConfig("127.0.0.1:1", Path())

    assert orphaned_topics.is_internal(config, topic)
    assert not orphaned_topics.is_internal(config, "users-commits")
    assert read == []

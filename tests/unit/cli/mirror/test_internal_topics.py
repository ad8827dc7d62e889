"""The topics that belong to the cluster, and are not copied."""

import pytest

from duolog.cli.mirror.internal_topics import is_of_the_cluster


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("__consumer_offsets", True),
        ("__transaction_state", True),
        ("__debezium-heartbeat.shop", False),
        ("__mine", False),
        ("orders", False),
    ],
)
def test_only_topics_of_kafka_belong_to_the_cluster(topic: str, *, internal: bool) -> None:
    assert is_of_the_cluster(topic) is internal

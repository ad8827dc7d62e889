from typing import Any

from duolog.broker.groups.offsets_topic import OFFSETS_TOPIC
from duolog.protocol.error_codes import ErrorCode

CREATE_PARTITIONS = 37


def test_the_offsets_topic_does_not_grow_or_groups_would_be_looked_for_elsewhere(
    harness: Any,
) -> None:
    harness.broker.create_topic(OFFSETS_TOPIC, 4, {})
    asked = [{"name": OFFSETS_TOPIC, "count": 8, "assignments": None}]

    answer = harness.client().ask(CREATE_PARTITIONS, 3, topics=asked, validate_only=False)

    assert [row.error_code for row in answer.results] == [ErrorCode.INVALID_REQUEST]
    assert len(harness.broker.topics.find(OFFSETS_TOPIC).partitions) == 4

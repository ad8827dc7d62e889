"""Identifiers used by several packages."""

from typing import NamedTuple, NewType
from uuid import UUID

TopicId = NewType("TopicId", UUID)
"""Identifies one incarnation of a topic; a topic recreated under the same name gets a new id."""


class TopicPartition(NamedTuple):
    """A partition of a topic, identified by the topic's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

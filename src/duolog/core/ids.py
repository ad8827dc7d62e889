"""Names of things that several packages point at."""

from typing import NamedTuple, NewType
from uuid import UUID

TopicId = NewType("TopicId", UUID)
"""Identifies one incarnation of a topic: a topic made anew under an old name gets another id."""


class TopicPartition(NamedTuple):
    """One partition of a topic, by the topic's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

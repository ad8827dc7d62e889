"""The topic metadata that a group needs, and the hash that detects changes of it."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol
from uuid import UUID


class TopicInfo(NamedTuple):
    """One topic as an assignor sees it."""

    topic_id: UUID
    name: str
    partitions: int


class TopicView(Protocol):
    """The topics of the broker, now."""

    @property
    def version(self) -> int:
        """A number that grows whenever a topic is created, deleted or grows."""

    def find(self, name: str) -> TopicInfo | None: ...

    def name_of(self, topic_id: UUID) -> str | None: ...

    def names(self) -> Iterable[str]: ...


class NoTopics:
    """A broker without topics."""

    version: Final = 0

    def find(self, name: str) -> TopicInfo | None:
        return None

    def name_of(self, topic_id: UUID) -> str | None:
        return None

    def names(self) -> Iterable[str]:
        return ()


def known_topics(topics: TopicView, names: Iterable[str]) -> dict[str, TopicInfo]:
    """Return those of `names` that exist."""
    return {name: found for name in names if (found := topics.find(name)) is not None}


def metadata_hash(topics: Iterable[TopicInfo]) -> int:
    """Return a signed number of 64 bits, the same for the same topics; 0 without topics."""
    digest = blake2b(digest_size=8)
    some = False
    for topic in sorted(topics, key=lambda topic: topic.name):
        digest.update(topic.topic_id.bytes + topic.partitions.to_bytes(4))
        some = True
    return int.from_bytes(digest.digest(), signed=True) if some else 0

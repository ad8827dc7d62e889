"""The broker's topics as consumer groups see them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from duolog.coordinator.consumer_groups.topics import TopicInfo

if TYPE_CHECKING:
    from uuid import UUID

    from duolog.broker.groups.needs import Broker


class BrokerTopics:
    """A `TopicView` of the topics that are served."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @property
    def version(self) -> int:
        authorizer = self._broker.authorizer
        rights = 0 if authorizer is None else authorizer.epoch
        # Both only grow. With other rights, members by expressions may see other topics.
        return self._broker.topics.version + rights

    def find(self, name: str) -> TopicInfo | None:
        topic = self._broker.topics.get(name)
        return None if topic is None else TopicInfo(topic.id, name, len(topic.partitions))

    def name_of(self, topic_id: "UUID") -> str | None:
        topic = self._broker.topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    def names(self) -> Iterable[str]:
        return (topic.name for topic in self._broker.topics)

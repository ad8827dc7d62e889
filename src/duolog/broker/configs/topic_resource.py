"""Configs of topics, as a kind of resource; the settings are in `duolog.log.settings`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from duolog.broker.configs.described_config import Row, TopicRows
from duolog.broker.controller import Change
from duolog.broker.topics.topic_names import check_topic_name
from duolog.core.errors import KafkaError
from duolog.core.names import metric_name
from duolog.core.setting_types import Kind
from duolog.log.settings import TOPIC_SETTINGS
from duolog.protocol.error_codes import ErrorCode
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC

if TYPE_CHECKING:
    from duolog.broker.topics.topics import Topic, Topics


class ConfigsOfTopics:
    """The configs of topics by name."""

    def __init__(self, topics: "Topics", topic_rows: TopicRows) -> None:
        self._topics = topics
        self._rows = topic_rows

    def names(self) -> Iterable[str]:
        return [topic.name for topic in self._topics]

    def rows(self, name: str) -> Iterable[Row]:
        check_topic_name(name)
        return self._rows.rows(self._whole(name).configs)

    def configs(self, name: str) -> Mapping[str, str]:
        return self._find(name).configs

    def base_of_list(self, name: str, config: str) -> str | None:
        setting = TOPIC_SETTINGS.row(config)
        if setting.kind is not Kind.LIST:
            return None
        return self._topics.configs.effective(self._find(name).configs)[config]

    def changing(self, name: str, configs: Mapping[str, str]) -> Change:
        if name == SECURITY_TOPIC:
            # Another cleanup.policy would delete users and rights.
            raise KafkaError(
                f'configs of topic "{name}" cannot be changed', code=ErrorCode.POLICY_VIOLATION
            )
        self._topics.configs.check_asked(configs)
        return self._topics.altering(name, configs)

    def subject(self, name: str) -> str:
        return metric_name(name)

    def _find(self, name: str) -> "Topic":
        if not name:
            raise KafkaError("topic has no name", code=ErrorCode.INVALID_REQUEST)
        check_topic_name(name)
        return self._whole(name)

    def _whole(self, name: str) -> "Topic":
        topic = self._topics.find(name)
        if topic.refused is not None:
            raise topic.refused
        return topic

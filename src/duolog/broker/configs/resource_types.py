"""All kinds of resources that have configs, by Kafka's numbers."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from duolog.broker.configs.broker_resource import BrokerConfigs
from duolog.broker.configs.client_metrics_resource import ClientMetrics
from duolog.broker.configs.described_config import Row, TopicRows
from duolog.broker.configs.dynamic_config_store import ConfigStore
from duolog.broker.configs.group_resource import GroupConfigs
from duolog.broker.configs.logger_resource import BrokerLoggers
from duolog.broker.configs.resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    ConfigKind,
)
from duolog.broker.configs.topic_resource import ConfigsOfTopics
from duolog.core.errors import KafkaError
from duolog.core.setting_types import Kind
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.topics.topics import Topics
    from duolog.log.log_manager import LogManager


class Configs:
    """The resources that can be configured at run time.

    Created before topics are opened, because they may change settings.
    """

    def __init__(
        self,
        log_manager: "LogManager",
        settings: "BrokerSettings",
        changed: Callable[[set[str]], Iterator[None]],
        computed: Callable[[], Mapping[str, tuple[Kind, str]]],
        ensure_usable: "Callable[[BrokerSettings], None]",
    ) -> None:
        node_id = settings.integer("node.id")
        self._settings: Final = settings
        self._store = store = ConfigStore(log_manager)
        self.topic_rows: Final = TopicRows(settings)
        self.groups: Final = GroupConfigs(store, settings)
        self.loggers: Final = BrokerLoggers(node_id)
        self._changed = changed
        self._kinds: dict[int, ConfigKind] = {
            BROKER: BrokerConfigs(
                store,
                settings,
                node_id,
                changed=self._broker_changed,
                computed=computed,
                ensure_usable=ensure_usable,
            ),
            CLIENT_METRICS: ClientMetrics(store),
            GROUP: self.groups,
        }

    def add_topics(self, topics: "Topics") -> None:
        """Make the configs of topics known, once there are topics."""
        self._kinds[TOPIC] = ConfigsOfTopics(topics, self.topic_rows)

    def kind(self, number: int) -> ConfigKind:
        """Return the resources of a kind; loggers are in `loggers`.

        Raises:
            KafkaError: INVALID_REQUEST, there is no such kind.
        """
        found = self._kinds.get(number)
        if found is None:
            raise KafkaError(
                f"resources of type {number} have no configs that can be changed here",
                code=ErrorCode.INVALID_REQUEST,
            )
        return found

    def rows(self, number: int, name: str) -> list[Row]:
        """Return every config of a resource of any kind."""
        if number == BROKER_LOGGER:
            return list(self.loggers.rows(name))
        return list(self.kind(number).rows(name))

    def names(self, number: int) -> list[str]:
        """Return the resources of a kind."""
        if number == BROKER_LOGGER:
            return list(self._kinds[BROKER].names())
        return list(self.kind(number).names())

    def subject(self, number: int, name: str) -> str:
        """Return the subject of a change for the controller, or any text if there can be none."""
        kind = self._kinds.get(number)
        return kind.subject(name) if kind else f"/{number}"

    def _broker_changed(self, names: set[str]) -> Iterator[None]:
        self.topic_rows.forget()
        yield from self._changed(names)

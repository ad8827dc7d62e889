"""The kinds of things that have configs, and what can be done with each.

Source: Kafka `org.apache.kafka.common.config.ConfigResource.Type`, `ConfigAdminManager`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from duolog.broker.configs.described_config import Row
from duolog.broker.controller import Change

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32


class ConfigKind(Protocol):
    """Resources of one kind."""

    def names(self) -> Iterable[str]:
        """Return the existing resources, as in ListConfigResources."""
        ...

    def rows(self, name: str) -> Iterable[Row]:
        """Return every config of a resource.

        Raises:
            KafkaError: there is no such resource.
        """
        ...

    def configs(self, name: str) -> Mapping[str, str]:
        """Return what is set for a resource.

        Raises:
            KafkaError: there is no such resource.
        """
        ...

    def base_of_list(self, name: str, config: str) -> str | None:
        """Return the initial value for edits of a list that is not set; None if it is not a list.

        Raises:
            ConfigError: the config is not known.
        """
        ...

    def changing(self, name: str, configs: Mapping[str, str]) -> Change:
        """Return the change after which exactly `configs` are set for a resource.

        Raises:
            KafkaError: there is no such resource, or it cannot be set to this.
            ConfigError: a config is unknown, or its value is not allowed.
        """
        ...

    def subject(self, name: str) -> str:
        """Return what the controller takes for the subject of a change."""
        ...

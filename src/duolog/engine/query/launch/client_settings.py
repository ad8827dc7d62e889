"""The settings of Kafka's clients in the JVM: our defaults, the user's, and those of a trigger."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from duolog.engine.changelog.changelogs import ENTRY_BYTES_MAX
from duolog.engine.client_secrets import jvm_security
from duolog.engine.exactly_once.transaction_timeout import transaction_timeout_ms
from duolog.engine.query.launch.client_defaults import (
    CONSUMER,
    CONSUMER_OF_MICRO_BATCHES,
    PRODUCER,
    RECORD_BATCH_BYTES_MAX,
)
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.settings import EngineConfig

_LINGER_MS: Final[Mapping[Trigger, str]] = {
    "micro-batch": "100",
    "available-now": "100",
    "real-time": "0",
}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The clients of one application."""

    config: EngineConfig
    has_changelogs: bool = False

    @property
    def common(self) -> dict[str, str]:
        """The user's settings for all clients, without secrets."""
        servers = {"bootstrap.servers": self.config.bootstrap_servers}
        return dict(self.config.client_options) | jvm_security(self.config.security) | servers

    @property
    def consumer(self) -> dict[str, str]:
        return CONSUMER | self.common

    @property
    def consumer_of_micro_batches(self) -> dict[str, str]:
        """The settings of consumers that read up to known offsets."""
        return CONSUMER_OF_MICRO_BATCHES | self.common

    def producer(self, trigger: Trigger, record_batch_bytes_max: int | None) -> dict[str, str]:
        """Return the settings of the producers of results."""
        producer = PRODUCER | {"linger.ms": _LINGER_MS[trigger]}
        if record_batch_bytes_max is not None:
            # A larger batch would be refused, split into pieces of this size, and sent again.
            batch_bytes = min(RECORD_BATCH_BYTES_MAX, record_batch_bytes_max)
            producer["batch.size"] = str(batch_bytes)
        if self.has_changelogs:
            producer["max.request.size"] = str(ENTRY_BYTES_MAX)
        if self.config.exactly_once:
            producer["transaction.timeout.ms"] = str(transaction_timeout_ms(self.config))
        return producer | self.common

    @property
    def changelog_producer(self) -> dict[str, str]:
        """The settings of the producer of initial changelog entries."""
        return PRODUCER | {"max.request.size": str(ENTRY_BYTES_MAX)} | self.common

    @property
    def commit_producer(self) -> dict[str, str]:
        """The settings of the producer of the commit topic."""
        return PRODUCER | {"linger.ms": "0"} | self.common


def as_spark_options(client: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a Kafka client under the names that Spark's sources and sinks read."""
    return {f"kafka.{name}": value for name, value in client.items()}

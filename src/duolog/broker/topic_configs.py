"""The configs of a topic, as clients set and read them.

The rows stand in `log.config`. A topic keeps only what was set for it, as text; what is in
force is that, over what the broker is set to (`log.retention.ms` for `retention.ms`), over the
default of the row.

Source: Kafka `org.apache.kafka.common.config.TopicConfig`, `LogConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from duolog.broker.settings import BrokerSettings
from duolog.core.settings import Value
from duolog.log.config import BROKER_NAMES, TOPIC_SETTINGS, topic_values

_FOREVER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """What the produce path asks of a topic, ready to compare."""

    batch_bytes_max: int
    log_append_time: bool
    compacted: bool
    timestamp_before_ms_max: int
    timestamp_after_ms_max: int
    opens_records: bool
    """A rule of this topic cannot be checked by a batch's header."""


class TopicConfigs:
    """The configs of all topics of one broker."""

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings

    def check(self, configs: Mapping[str, str]) -> None:
        """Refuse what no topic can be set to.

        Raises:
            ConfigError: a name is unknown, and the hint names the nearest; or a value is bad.
        """
        TOPIC_SETTINGS.parse(configs)

    def effective(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return every config as text: the topic's own, the broker's, or the default."""
        values = topic_values(configs, self._settings.values)
        return {row.name: row.render(values[row.name]) for row in TOPIC_SETTINGS}

    def default(self, name: str) -> str:
        """Return what a topic that does not set `name` has, as text."""
        return self._settings.text(BROKER_NAMES[name])

    def for_produce(self, configs: Mapping[str, str]) -> TopicConfig:
        """Return what the produce path compares with."""
        values = topic_values(configs, self._settings.values)
        policy = values["cleanup.policy"]
        assert isinstance(policy, tuple)
        log_append_time = values["message.timestamp.type"] == "LogAppendTime"
        before_ms_max = _integer(values["message.timestamp.before.max.ms"])
        after_ms_max = _integer(values["message.timestamp.after.max.ms"])
        return TopicConfig(
            batch_bytes_max=_integer(values["max.message.bytes"]),
            log_append_time=log_append_time,
            compacted="compact" in policy,
            timestamp_before_ms_max=before_ms_max,
            timestamp_after_ms_max=_FOREVER if log_append_time else after_ms_max,
            opens_records="compact" in policy
            or (before_ms_max != _FOREVER and not log_append_time),
        )


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value

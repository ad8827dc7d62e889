"""The configs of a topic, as clients set and read them.

The settings are in `log.config`. A topic keeps only what was set for it, as text; what is in
force is that, over what the broker is set to (`log.retention.ms` for `retention.ms`), over the
default of the row.

Source: Kafka `org.apache.kafka.common.config.TopicConfig`, `LogConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from duolog.broker.schema_checks.settings import CHECK_SETTINGS, SchemaChecks, schema_checks
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.setting_types import Value
from duolog.core.units import MIB
from duolog.log.config import topic_values
from duolog.log.settings import TOPIC_SETTINGS

SEGMENT_BYTES_MIN: Final = MIB
"""The least that a client may set, as in Kafka 4.1."""
_FOREVER: Final = 2**63 - 1
_TRUSTED_AHEAD_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The topic configs that the produce path compares against."""

    batch_bytes_max: int
    log_append_time: bool
    compacted: bool
    timestamp_before_ms_max: int
    timestamp_after_ms_max: int
    trusted_ahead_ms: int
    """Time by which a batch may claim to be ahead of the clock without a check of its records.

    An index entry with a wrong future timestamp would hide all records until the clock reaches it.
    """
    reads_records: bool
    """A rule about keys or times cannot be checked by a batch's header."""
    schema_checks: SchemaChecks | None
    opens_records: bool
    """Some rule of this topic cannot be checked by a batch's header."""


class TopicConfigs:
    """The configs of all topics of one broker."""

    def __init__(self, settings: BrokerSettings, *, has_registry: bool = False) -> None:
        self._settings = settings
        self._has_registry = has_registry

    def check(self, configs: Mapping[str, str]) -> None:
        """Refuse what no topic can be set to.

        Raises:
            ConfigError: a name is unknown, and the hint names the nearest; or a value is bad.
        """
        TOPIC_SETTINGS.parse(configs)

    def check_asked(self, configs: Mapping[str, str]) -> None:
        """Refuse what a client cannot set a topic to, beyond `check`: Kafka's rules for people.

        Raises:
            ConfigError: as `check`; or two values contradict each other.
        """
        for name in configs:
            _ensure_known(name)
        values = TOPIC_SETTINGS.parse(configs)
        segment_bytes = _integer(values["segment.bytes"])
        if "segment.bytes" in configs and segment_bytes < SEGMENT_BYTES_MIN:
            raise ConfigError(
                f'topic setting "segment.bytes" must be at least {SEGMENT_BYTES_MIN}, '
                f"not {segment_bytes}",
                name="segment.bytes",
                value=segment_bytes,
                hint="The broker's log.segment.bytes may be less, for tests.",
            )
        effective = topic_values(configs, self._settings.values)
        lags = ("min.compaction.lag.ms", "max.compaction.lag.ms")
        low, high = (_integer(effective[name]) for name in lags)
        if low > high and any(name in configs for name in lags):
            raise ConfigError(
                f'topic setting "{lags[0]}" ({low}) must not be above "{lags[1]}" ({high})',
                name=lags[0],
                value=low,
            )
        if values["remote.storage.enable"]:
            raise ConfigError(
                'topic setting "remote.storage.enable" cannot be true: there is no tiered storage',
                name="remote.storage.enable",
                value=True,
            )
        for name in () if self._has_registry else CHECK_SETTINGS:
            if values[name]:
                raise ConfigError(
                    f'topic setting "{name}" cannot be true: this broker has no schema registry',
                    name=name,
                    value=True,
                    hint="Start the broker with confluent.schema.registry.url, or with --registry.",
                )

    def effective(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return every config as text: the topic's own, the broker's, or the default."""
        values = topic_values(configs, self._settings.values)
        return {row.name: row.render(values[row.name]) for row in TOPIC_SETTINGS}

    def for_produce(self, configs: Mapping[str, str]) -> TopicConfig:
        """Return what the produce path compares with."""
        values = topic_values(configs, self._settings.values)
        policy = values["cleanup.policy"]
        assert isinstance(policy, tuple)
        log_append_time = values["message.timestamp.type"] == "LogAppendTime"
        before_ms_max = _integer(values["message.timestamp.before.max.ms"])
        after_ms_max = _integer(values["message.timestamp.after.max.ms"])
        reads_records = "compact" in policy or (before_ms_max != _FOREVER and not log_append_time)
        checks = schema_checks(values)
        return TopicConfig(
            batch_bytes_max=_integer(values["max.message.bytes"]),
            log_append_time=log_append_time,
            compacted="compact" in policy,
            timestamp_before_ms_max=before_ms_max,
            timestamp_after_ms_max=_FOREVER if log_append_time else after_ms_max,
            trusted_ahead_ms=_FOREVER if log_append_time else min(after_ms_max, _TRUSTED_AHEAD_MS),
            reads_records=reads_records,
            schema_checks=checks,
            opens_records=reads_records or checks is not None,
        )


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _ensure_known(name: str) -> None:
    """Raise ConfigError if there is no topic setting `name`, in Kafka's words.

    Programs compare the message. Source: Kafka `LogConfig.validateNames`.
    """
    try:
        TOPIC_SETTINGS.row(name)
    except ConfigError as error:
        raise ConfigError(
            f"Unknown topic config name: {name}", name=name, hint=error.hint
        ) from None

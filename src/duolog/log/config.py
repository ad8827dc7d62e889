"""The settings of one partition log, read from those of its topic and of the broker."""

from collections.abc import Mapping
from dataclasses import dataclass

from duolog.core.setting_types import Value
from duolog.core.units import DAY_MS, GIB, HOUR_MS, INT64_MAX, MIB
from duolog.log.settings import BROKER_NAMES, TOPIC_SETTINGS


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one partition log, with units."""

    segment_bytes_max: int = GIB
    segment_ms: int = 7 * DAY_MS
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    message_bytes_max: int = MIB + 12
    compacted: bool = False
    deleted_when_old: bool = True
    log_append_time: bool = False
    producer_expiration_ms: int = 24 * HOUR_MS
    recovery_point_bytes: int = 64 * MIB
    delete_retention_ms: int = DAY_MS
    min_cleanable_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX

    @classmethod
    def of_topic(
        cls, configs: Mapping[str, str], broker_settings: Mapping[str, Value]
    ) -> "LogConfig":
        """Return the config of a topic: its own settings over the broker's over the defaults.

        Raises:
            ConfigError: a topic setting is unknown or has a value that is not allowed.
        """
        values = topic_values(configs, broker_settings)
        expiration = broker_settings.get("producer.id.expiration.ms", DAY_MS)
        recovery_point = broker_settings.get("log.recovery.point.bytes", 64 * MIB)
        policy = values["cleanup.policy"]
        assert isinstance(policy, tuple)
        segment_ms = _integer(values["segment.ms"])
        max_compaction_lag_ms = _integer(values["max.compaction.lag.ms"])
        if "compact" in policy:  # The active segment is never compacted, so it must be rolled.
            segment_ms = min(segment_ms, max_compaction_lag_ms)
        ratio = values["min.cleanable.dirty.ratio"]
        assert isinstance(ratio, int | float)
        return cls(
            segment_bytes_max=_integer(values["segment.bytes"]),
            segment_ms=segment_ms,
            index_interval_bytes=_integer(values["index.interval.bytes"]),
            retention_ms=_integer(values["retention.ms"]),
            retention_bytes=_integer(values["retention.bytes"]),
            message_bytes_max=_integer(values["max.message.bytes"]),
            compacted="compact" in policy,
            deleted_when_old="delete" in policy,
            log_append_time=values["message.timestamp.type"] == "LogAppendTime",
            producer_expiration_ms=_integer(expiration),
            recovery_point_bytes=_integer(recovery_point),
            delete_retention_ms=_integer(values["delete.retention.ms"]),
            min_cleanable_ratio=ratio,
            min_compaction_lag_ms=_integer(values["min.compaction.lag.ms"]),
            max_compaction_lag_ms=max_compaction_lag_ms,
        )


def topic_values(
    configs: Mapping[str, str], broker_settings: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the value of each topic setting in force.

    Raises:
        ConfigError: a topic setting is unknown or has a value that is not allowed.
    """
    values = TOPIC_SETTINGS.parse(configs)
    for topic_name, broker_name in BROKER_NAMES.items():
        if topic_name not in configs and broker_name in broker_settings:
            values[topic_name] = broker_settings[broker_name]
    return values


def _integer(value: Value) -> int:
    assert isinstance(value, int), value
    return value

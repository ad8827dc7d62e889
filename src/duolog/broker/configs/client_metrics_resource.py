"""Client metrics subscriptions: stored without effect, because none are collected.

Source: Kafka `ClientMetricsConfigs`, KIP-714.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import re2

from duolog.broker.configs.described_config import METRICS_SOURCE, Row, set_rows
from duolog.broker.configs.dynamic_config_store import SUBJECT, ConfigStore
from duolog.broker.configs.resources import CLIENT_METRICS
from duolog.broker.controller import Change
from duolog.core.errors import ConfigError, KafkaError
from duolog.core.setting_types import Kind, Setting, Settings
from duolog.core.units import HOUR_MS
from duolog.protocol.error_codes import ErrorCode

_NO_EFFECT: Final = "Kept, no effect: clients' metrics are not collected."
_ROWS: Final = (
    Setting(
        "interval.ms", 300_000, Kind.INT, f"How often clients push, 100 ms to 1 h. {_NO_EFFECT}"
    ),
    Setting("match", (), Kind.LIST, f"Which clients: NAME=REGULAR EXPRESSION, …. {_NO_EFFECT}"),
    Setting("metrics", (), Kind.LIST, f"Prefixes of names of metrics. {_NO_EFFECT}"),
)
METRICS_SETTINGS: Final = Settings(_ROWS, subject="clients' metrics setting")
_INTERVAL_MS_MIN: Final = 100
_MATCH_CHARACTERS_MAX: Final = 500
_EXPRESSION_MEMORY_BYTES_MAX: Final = 64 * 1024
"""Expressions are compiled on the broker's loop: both limits keep that short."""
_CLIENT_FIELDS: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


class ClientMetrics:
    """Subscriptions of clients' metrics by name."""

    def __init__(self, store: ConfigStore) -> None:
        self._store = store

    def names(self) -> Iterable[str]:
        return self._store.names(CLIENT_METRICS)

    def rows(self, name: str) -> Iterable[Row]:
        return set_rows(
            _ROWS,
            self.configs(name),
            METRICS_SOURCE,
            lambda setting: setting.render(setting.default),
            with_default_synonym=False,
        )

    def configs(self, name: str) -> Mapping[str, str]:
        if not name:
            raise KafkaError(
                "subscription of clients' metrics has no name", code=ErrorCode.INVALID_REQUEST
            )
        return self._store.get(CLIENT_METRICS, name)

    def base_of_list(self, name: str, config: str) -> str | None:
        # Kafka appends to none of these lists.
        del name, config
        return None

    def changing(self, name: str, configs: Mapping[str, str]) -> Change:
        try:
            for config in configs:
                METRICS_SETTINGS.row(config)
        except ConfigError as error:
            raise KafkaError(
                f"{error.message}. {error.hint}", code=ErrorCode.INVALID_REQUEST
            ) from None
        values = METRICS_SETTINGS.parse(configs)
        interval_ms, match = values["interval.ms"], values["match"]
        assert isinstance(interval_ms, int)
        assert isinstance(match, tuple)
        if not _INTERVAL_MS_MIN <= interval_ms <= HOUR_MS:
            raise KafkaError(
                f'setting "interval.ms" must be between {_INTERVAL_MS_MIN} and {HOUR_MS}, '
                f"not {interval_ms}",
                code=ErrorCode.INVALID_REQUEST,
            )
        if sum(map(len, match)) > _MATCH_CHARACTERS_MAX:
            raise ConfigError(
                f'setting "match" is longer than {_MATCH_CHARACTERS_MAX} characters', name="match"
            )
        for pattern in match:
            _check_pattern(pattern)
        return self._store.changing(CLIENT_METRICS, name, configs)

    def subject(self, name: str) -> str:
        del name
        return SUBJECT


def _check_pattern(pattern: str) -> None:
    field, equals, expression = pattern.partition("=")
    if not equals or field.strip() not in _CLIENT_FIELDS:
        raise ConfigError(
            f'pattern "{pattern}" names no field of a client',
            name="match",
            value=pattern,
            hint=f"Fields are {', '.join(sorted(_CLIENT_FIELDS))}.",
        )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _EXPRESSION_MEMORY_BYTES_MAX
    try:
        re2.compile(expression.strip(), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise ConfigError(
            f'pattern "{pattern}" is not a valid regular expression: {reason}',
            name="match",
            value=pattern,
        ) from None

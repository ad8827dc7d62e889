"""Configs of single groups: they win over the broker's settings of the same name behind `group.`.

Only those of the consumer protocol exist; Kafka's for share and streams groups are not known here.

Source: Kafka `GroupConfig`, KIP-848, KIP-1160.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from duolog.broker.configs.described_config import GROUP_SOURCE, Row, set_rows
from duolog.broker.configs.dynamic_config_store import SUBJECT, ConfigStore
from duolog.broker.configs.resources import GROUP
from duolog.broker.controller import Change
from duolog.broker.settings import SETTINGS, BrokerSettings
from duolog.core.errors import ConfigError, KafkaError
from duolog.core.settings import Kind, Setting, Settings, at_least
from duolog.protocol.error_codes import ErrorCode

SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"

_ROWS: Final = (
    Setting(
        HEARTBEAT_INTERVAL,
        default=5000,
        kind=Kind.INT,
        doc="How often a member of the group is to send a heartbeat (consumer protocol).",
        check=at_least(1),
    ),
    Setting(
        SESSION_TIMEOUT,
        default=45_000,
        kind=Kind.INT,
        doc="Silence after which a member of the group is taken for gone (consumer protocol).",
        check=at_least(1),
    ),
)
GROUP_SETTINGS: Final = Settings(_ROWS, subject="group setting")
_BOUNDS: Final = {
    HEARTBEAT_INTERVAL: (
        ("group.consumer.min.heartbeat.interval.ms", 5000),
        ("group.consumer.max.heartbeat.interval.ms", 15_000),
    ),
    SESSION_TIMEOUT: (
        ("group.consumer.min.session.timeout.ms", 45_000),
        ("group.consumer.max.session.timeout.ms", 60_000),
    ),
}


class GroupConfigs:
    """What is set for groups by name; a group need not exist."""

    def __init__(self, store: ConfigStore, settings: BrokerSettings) -> None:
        self._store = store
        self._settings = settings

    def integer(self, group_id: str, name: str) -> int:
        """Return a value in force for a group: its own, else the broker's."""
        text = self._store.get(GROUP, group_id).get(name)
        value = GROUP_SETTINGS.row(name).parse(text) if text is not None else self._default(name)
        assert isinstance(value, int)
        return value

    def names(self) -> Iterable[str]:
        return self._store.names(GROUP)

    def rows(self, name: str) -> Iterable[Row]:
        return set_rows(
            _ROWS,
            self.configs(name),
            GROUP_SOURCE,
            lambda setting: setting.render(self._default(setting.name)),
            with_default_synonym=True,
        )

    def configs(self, name: str) -> Mapping[str, str]:
        if not name:
            raise KafkaError("group has no name", code=ErrorCode.INVALID_REQUEST)
        return self._store.get(GROUP, name)

    def base_of_list(self, name: str, config: str) -> str | None:
        del name
        GROUP_SETTINGS.row(config)
        return None

    def changing(self, name: str, configs: Mapping[str, str]) -> Change:
        values = GROUP_SETTINGS.parse(configs)
        for config in configs:
            (low_name, low), (high_name, high) = _BOUNDS[config]
            low, high = self._bound(low_name, low), self._bound(high_name, high)
            value = values[config]
            assert isinstance(value, int)
            if not low <= value <= high:
                raise ConfigError(
                    f'group setting "{config}" must be between {low} and {high}, not {value}',
                    name=config,
                    value=value,
                    hint=f"The bounds are {low_name} and {high_name}.",
                )
        session, beat = (
            values[key] if key in configs else self._default(key)
            for key in (SESSION_TIMEOUT, HEARTBEAT_INTERVAL)
        )
        assert isinstance(session, int)
        assert isinstance(beat, int)
        if session <= beat:
            raise ConfigError(
                f'group setting "{SESSION_TIMEOUT}" must be above "{HEARTBEAT_INTERVAL}"',
                name=SESSION_TIMEOUT,
                value=session,
            )
        return self._store.changing(GROUP, name, configs)

    def subject(self, name: str) -> str:
        del name
        return SUBJECT

    def _default(self, name: str) -> int:
        default = GROUP_SETTINGS.row(name).default
        assert isinstance(default, int)
        return self._bound(f"group.{name}", default)

    def _bound(self, name: str, otherwise: int) -> int:
        return self._settings.integer(name) if name in SETTINGS else otherwise

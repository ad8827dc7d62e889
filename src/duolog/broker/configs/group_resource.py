"""Configs of single groups: they override the broker's settings of the same name after `group.`.

Those of share groups (KIP-932) and streams groups (KIP-1071) are checked and kept, without effect:
tools and clients set them for any group, and this broker has no such groups.

Source: Kafka `GroupConfig`, KIP-848, KIP-932, KIP-1071, KIP-1160.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Final

from duolog.broker.configs.described_config import GROUP_SOURCE, Row, set_rows
from duolog.broker.configs.dynamic_config_store import SUBJECT, ConfigStore
from duolog.broker.configs.resources import GROUP
from duolog.broker.controller import Change
from duolog.broker.settings import SETTINGS, BrokerSettings
from duolog.core.errors import ConfigError, KafkaError
from duolog.core.setting_types import (
    NO_EFFECT,
    Check,
    Kind,
    Setting,
    Settings,
    Value,
    at_least,
    one_of,
)
from duolog.protocol.error_codes import ErrorCode

logger = logging.getLogger(__name__)

SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"

_DURATION: Final = re.compile(
    r"by_duration:P(?=\d|T\d)(\d{1,9}D)?(T(?=\d)(\d{1,9}H)?(\d{1,9}M)?(\d{1,9}(\.\d{1,9})?S)?)?"
)


def _check_reset(value: Value) -> str | None:
    if value in ("earliest", "latest") or _DURATION.fullmatch(str(value)):
        return None
    return "must be earliest, latest or by_duration:PnDTnHnMn.nS"


def _inert(
    name: str, default: Value, kind: Kind, check: Check, *, of: str = "share groups"
) -> Setting:
    return Setting(name, default, kind, f"{NO_EFFECT}there are no {of}.", check)


_STREAMS: Final = "groups of the streams protocol"
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
    _inert("share.session.timeout.ms", 45_000, Kind.INT, at_least(1)),
    _inert("share.heartbeat.interval.ms", 5000, Kind.INT, at_least(1)),
    _inert("share.record.lock.duration.ms", 30_000, Kind.INT, at_least(1000)),
    _inert("share.auto.offset.reset", "latest", Kind.STRING, _check_reset),
    _inert(
        "share.isolation.level",
        "read_uncommitted",
        Kind.STRING,
        one_of("read_committed", "read_uncommitted"),
    ),
    _inert("streams.session.timeout.ms", 45_000, Kind.INT, at_least(1), of=_STREAMS),
    _inert("streams.heartbeat.interval.ms", 5000, Kind.INT, at_least(1), of=_STREAMS),
    _inert("streams.num.standby.replicas", 0, Kind.INT, at_least(0), of=_STREAMS),
)
GROUP_SETTINGS: Final = Settings(_ROWS, subject="group setting")
_BOUNDS: Final = {
    HEARTBEAT_INTERVAL: ("group.consumer.{}.heartbeat.interval.ms", 5000, 15_000),
    SESSION_TIMEOUT: ("group.consumer.{}.session.timeout.ms", 45_000, 60_000),
    "share.heartbeat.interval.ms": ("group.share.{}.heartbeat.interval.ms", 5000, 15_000),
    "share.session.timeout.ms": ("group.share.{}.session.timeout.ms", 45_000, 60_000),
    "share.record.lock.duration.ms": ("group.share.{}.record.lock.duration.ms", 15_000, 60_000),
    "streams.heartbeat.interval.ms": ("group.streams.{}.heartbeat.interval.ms", 5000, 15_000),
    "streams.session.timeout.ms": ("group.streams.{}.session.timeout.ms", 45_000, 60_000),
    "streams.num.standby.replicas": ("group.streams.{}.standby.replicas", 0, 2),
}
"""The broker's settings that bound a config (`min` or `max` in the braces), and their defaults."""


class GroupConfigs:
    """The configs of groups by group id; a group need not exist."""

    def __init__(self, store: ConfigStore, settings: BrokerSettings) -> None:
        self._store = store
        self._settings = settings
        self._note_unusable()

    def _note_unusable(self) -> None:
        """Log the configs of an earlier start that this version cannot use."""
        for group_id in self.names():
            for name, text in self._store.get(GROUP, group_id).items():
                try:
                    GROUP_SETTINGS.row(name).parse(text)
                except ConfigError as error:
                    logger.error(  # noqa: TRY400  The error is for an operator, without a trace.
                        "a stored config of a group cannot be used; the broker's applies",
                        extra={"group": group_id, "error": error.one_line()},
                    )

    def integer(self, group_id: str, name: str) -> int:
        """Return a value in force for a group: its own if it can be used, else the broker's."""
        text = self._store.get(GROUP, group_id).get(name)
        try:
            value = self._default(name) if text is None else GROUP_SETTINGS.row(name).parse(text)
        except ConfigError:  # The log has named it at the start.
            value = self._default(name)
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
            self._check_bounds(config, values[config])
        for kind in ("consumer", "share", "streams"):
            session_name = f"{kind}.session.timeout.ms"
            beat_name = f"{kind}.heartbeat.interval.ms"
            session, beat = (
                values[key] if key in configs else self._default(key)
                for key in (session_name, beat_name)
            )
            assert isinstance(session, int)
            assert isinstance(beat, int)
            if session <= beat:
                raise ConfigError(
                    f'group setting "{session_name}" must be above "{beat_name}"',
                    name=session_name,
                    value=session,
                )
        return self._store.changing(GROUP, name, configs)

    def subject(self, name: str) -> str:
        del name
        return SUBJECT

    def _check_bounds(self, config: str, value: Value) -> None:
        if config not in _BOUNDS:
            return
        name, *defaults = _BOUNDS[config]
        names = [name.format(end) for end in ("min", "max")]
        low, high = map(self._bound, names, defaults)
        assert isinstance(value, int)
        if not low <= value <= high:
            raise ConfigError(
                f'group setting "{config}" must be between {low} and {high}, not {value}',
                name=config,
                value=value,
                hint=f"The bounds are {names[0]} and {names[1]}.",
            )

    def _default(self, name: str) -> Value:
        default, broker_name = GROUP_SETTINGS.row(name).default, f"group.{name}"
        return self._bound(broker_name, default) if isinstance(default, int) else default

    def _bound(self, name: str, otherwise: int) -> int:
        return self._settings.integer(name) if name in SETTINGS else otherwise

"""Settings of brokers at run time: for this one by its id, for all of them by the empty name.

Source: Kafka `DynamicBrokerConfig`, KIP-226.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from duolog.broker.configs.described_config import (
    STATIC_SOURCE,
    Row,
    broker_rows,
    default_broker_rows,
    is_dynamic,
    row,
    synonym,
)
from duolog.broker.configs.dynamic_config_store import SUBJECT, ConfigStore
from duolog.broker.configs.resources import BROKER
from duolog.broker.controller import Change
from duolog.broker.settings import SETTINGS, BrokerSettings
from duolog.broker.settings.listener_prefix import without_prefix
from duolog.core.errors import ConfigError, KafkaError
from duolog.core.setting_types import Kind, Setting
from duolog.protocol.error_codes import ErrorCode
from duolog.security.tls.settings import NAMES as TLS_NAMES

logger = logging.getLogger(__name__)

ALL_BROKERS: Final = ""

Changed = Callable[[set[str]], Iterator[None]]
"""Called with the settings whose values changed; takes its time in steps."""


class BrokerConfigs:
    """The settings of this broker, over what was given at its start.

    `computed` are configs that are not settings of Duolog, but that Kafka's clients read.
    `ensure_usable` raises a ConfigError if settings of TLS cannot be used together.
    """

    def __init__(
        self,
        store: ConfigStore,
        settings: BrokerSettings,
        node_id: int,
        *,
        changed: Changed,
        computed: Callable[[], Mapping[str, tuple[Kind, str]]],
        ensure_usable: Callable[[BrokerSettings], None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._own_name = str(node_id)
        self._changed = changed
        self._computed = computed
        self._ensure_usable = ensure_usable
        self._load()

    def _load(self) -> None:
        """Take what was set before this start; what this version cannot take is left out."""
        layers = []
        for name in (ALL_BROKERS, self._own_name):
            layer = dict(self._store.get(BROKER, name))
            for config, text in list(layer.items()):
                try:
                    SETTINGS.row(config).parse(text)
                except ConfigError as error:
                    del layer[config]
                    logger.warning(
                        "a setting of run time is left out", extra={"error": error.message}
                    )
            layers.append(layer)
        self._settings.change(default=layers[0], own=layers[1])

    def names(self) -> Iterable[str]:
        return [self._own_name]

    def rows(self, name: str) -> Iterable[Row]:
        if name == ALL_BROKERS:
            return default_broker_rows(self._settings)
        self._check_name(name)
        told = {found["name"]: found for found in broker_rows(self._settings)}
        return (told | {found["name"]: found for found in self._computed_rows()}).values()

    def _computed_rows(self) -> Iterator[Row]:
        for name, (kind, value) in self._computed().items():
            setting = Setting(name, value, kind, "Given by the command line and node.id.")
            if name in SETTINGS:
                setting = SETTINGS.row(name)
            yield row(setting, value, [synonym(name, value, STATIC_SOURCE)], read_only=True)

    def configs(self, name: str) -> Mapping[str, str]:
        if name == ALL_BROKERS:
            return self._settings.default
        self._check_name(name)
        return self._settings.own

    def base_of_list(self, name: str, config: str) -> str | None:
        del name
        setting = SETTINGS.row(config)
        return setting.render(setting.default) if setting.kind is Kind.LIST else None

    def changing(self, name: str, configs: Mapping[str, str]) -> Change:
        for config, text in configs.items():
            self._check(config, text)
        change = self._store.changing(BROKER, name, configs)
        default, own = self._settings.default, dict(configs)
        if name == ALL_BROKERS:
            default, own = own, dict(self._settings.own)
        if any(without_prefix(config) in TLS_NAMES for config in configs):
            self._ensure_tls_usable(default, own)

        def apply() -> Iterator[None]:
            yield from change.apply()
            yield from self._changed(self._settings.change(default=default, own=own))

        return change._replace(apply=apply)

    def subject(self, name: str) -> str:
        del name
        return SUBJECT

    def _check(self, config: str, text: str) -> None:
        if config in self._computed():
            raise _at_start_only(config)
        setting = SETTINGS.row(config)
        if not is_dynamic(config):
            raise _at_start_only(config)
        try:
            setting.parse(text)
        except ConfigError as error:
            # As Kafka: a value that is not allowed is not an INVALID_CONFIG here.
            raise KafkaError(error.message, code=ErrorCode.INVALID_REQUEST) from None

    def _ensure_tls_usable(self, default: Mapping[str, str], own: Mapping[str, str]) -> None:
        candidate = BrokerSettings(self._settings.static)
        candidate.change(default=default, own=own)
        try:
            self._ensure_usable(candidate)
        except ConfigError as error:
            raise KafkaError(error.one_line(), code=ErrorCode.INVALID_REQUEST) from None

    def _check_name(self, name: str) -> None:
        if name != self._own_name:
            raise KafkaError(
                f'broker "{name}" is not this one, {self._own_name}',
                code=ErrorCode.INVALID_REQUEST,
            )


def _at_start_only(config: str) -> KafkaError:
    return KafkaError(
        f'broker setting "{config}" is given at the start and cannot be changed at run time',
        code=ErrorCode.INVALID_REQUEST,
    )

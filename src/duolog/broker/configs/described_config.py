"""Configs as DescribeConfigs and CreateTopics show them: value, source, synonyms, type.

    topic 1 > this broker 2 > all brokers 3 > given at the start 4 > default 5
    loggers 6 · clients' metrics 7 · groups 8

The synonyms of a value are all places where it is set, the strongest first. The synonyms of a topic
config include those of the broker setting with its default.

Source: Kafka `ConfigHelper`, `DescribeConfigsResponse.ConfigSource`, `ConfigType`; KIP-226.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NotRequired, TypedDict

from duolog.broker.settings import OTHER_UNITS, SETTINGS, BrokerSettings
from duolog.broker.settings.inert_settings import INERT_DYNAMIC, WITHOUT_DEFAULT
from duolog.broker.settings.listener_prefix import without_prefix
from duolog.broker.settings.tls import DYNAMIC_TLS, WITHOUT_TLS_DEFAULT
from duolog.core.setting_types import Kind, Setting
from duolog.log.config import topic_values
from duolog.log.settings import BROKER_NAMES, EXTENSIONS, TOPIC_SETTINGS


class Synonym(TypedDict):
    """A place where a config is set, with its value there."""

    name: str
    value: str | None
    source: int


class Row(TypedDict):
    """A config as DescribeConfigs returns it."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: NotRequired[bool]
    synonyms: list[Synonym]
    config_type: int
    documentation: str | None


TOPIC_SOURCE: Final = 1
OWN_SOURCE: Final = 2
DEFAULT_BROKER_SOURCE: Final = 3
STATIC_SOURCE: Final = 4
DEFAULT_SOURCE: Final = 5
LOGGER_SOURCE: Final = 6
METRICS_SOURCE: Final = 7
GROUP_SOURCE: Final = 8

_TYPES: Final = {
    Kind.BOOLEAN: 1,
    Kind.STRING: 2,
    Kind.INT: 3,
    Kind.LONG: 5,
    Kind.DOUBLE: 6,
    Kind.LIST: 7,
    Kind.SHORT: 4,
    Kind.CLASS: 8,
    Kind.PASSWORD: 9,
}
_WITHOUT_DEFAULT: Final = frozenset(
    {
        *OTHER_UNITS,
        *WITHOUT_DEFAULT,
        *WITHOUT_TLS_DEFAULT,
        "log.retention.minutes",
        "log.flush.interval.ms",
        "broker.rack",
    }
)
"""Broker settings that are null until they are set, as in Kafka."""

DYNAMIC: Final = frozenset(
    {
        *BROKER_NAMES.values(),
        *INERT_DYNAMIC,
        *DYNAMIC_TLS,
        "producer.id.expiration.ms",
        "max.connections",
        "max.connections.per.ip",
        "max.connection.creation.rate",
        "num.recovery.threads.per.data.dir",
        "log.cleaner.threads",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.max.bytes.per.second",
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
"""Broker settings that can be changed at run time."""


def is_dynamic(name: str) -> bool:
    """Return whether a broker setting, also of one listener, can be changed at run time."""
    return without_prefix(name) in DYNAMIC


def synonym(name: str, value: str | None, source: int) -> Synonym:
    return {"name": name, "value": value, "source": source}


def row(setting: Setting, value: str | None, synonyms: list[Synonym], *, read_only: bool) -> Row:
    """Return one config as DescribeConfigs returns it; of a password only whether it is set."""
    sensitive = setting.kind is Kind.PASSWORD
    return {
        "name": setting.name,
        "value": None if sensitive else value,
        "read_only": read_only,
        "config_source": synonyms[0]["source"] if synonyms else DEFAULT_SOURCE,
        "is_sensitive": sensitive,
        "synonyms": [{**found, "value": None} for found in synonyms] if sensitive else synonyms,
        "config_type": _TYPES[setting.kind],
        "documentation": setting.doc,
    }


class TopicRows:
    """The configs of topics; the defaults are cached until the broker's settings change."""

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings
        self._behind: dict[str, Row] | None = None

    def forget(self) -> None:
        """Reload the broker's settings."""
        self._behind = None

    def rows(self, configs: Mapping[str, str]) -> list[Row]:
        """Return every config of a topic that has set `configs`.

        Of configs that Apache Kafka does not have, only those that the topic has set: a program
        that copies the configs of a topic to a Kafka cluster is refused there for each of them.
        """
        if self._behind is None:
            self._behind = {found["name"]: found for found in self._rows_behind()}
        if not configs:
            return list(self._behind.values())
        found = dict(self._behind)
        for name, text in configs.items():
            setting = TOPIC_SETTINGS.row(name)
            value = setting.render(setting.parse(text))
            own = synonym(name, value, TOPIC_SOURCE)
            behind = found[name]["synonyms"] if name in found else []
            found[name] = row(setting, value, [own, *behind], read_only=False)
        return list(found.values())

    def _rows_behind(self) -> Iterator[Row]:
        values = topic_values({}, self._settings.values)
        for setting in TOPIC_SETTINGS:
            if setting.name in EXTENSIONS:
                continue
            broker_name = BROKER_NAMES.get(setting.name)
            synonyms = broker_synonyms(self._settings, broker_name) if broker_name else []
            yield row(setting, setting.render(values[setting.name]), synonyms, read_only=False)


def broker_rows(settings: BrokerSettings) -> Iterator[Row]:
    """Yield every setting of this broker."""
    for name in settings.values:  # The rows, and what is set for single listeners.
        synonyms = broker_synonyms(settings, name, other_units=False)
        value = settings.text(name) if synonyms else None
        yield row(SETTINGS.row(name), value, synonyms, read_only=not is_dynamic(name))


def default_broker_rows(settings: BrokerSettings) -> Iterator[Row]:
    """Yield what is set for all brokers at run time."""
    for name, text in settings.default.items():
        setting = SETTINGS.row(name)
        value = setting.render(setting.parse(text))
        yield row(setting, value, [synonym(name, value, DEFAULT_BROKER_SOURCE)], read_only=False)


def broker_synonyms(
    settings: BrokerSettings, name: str, *, other_units: bool = True
) -> list[Synonym]:
    """Return where a setting of the broker is set, the strongest first."""
    setting = SETTINGS.row(name)
    layers = (
        (settings.own, OWN_SOURCE),
        (settings.default, DEFAULT_BROKER_SOURCE),
        (settings.static, STATIC_SOURCE),
    )
    found = [
        synonym(name, setting.render(setting.parse(layer[name])), source)
        for layer, source in layers
        if name in layer
    ]
    for other, _ in OTHER_UNITS.get(name, ()) if other_units else ():
        if other in settings.static:
            found.append(synonym(other, settings.static[other], STATIC_SOURCE))
    if without_prefix(name) == name and name not in _WITHOUT_DEFAULT:
        found.append(synonym(name, setting.render(setting.default), DEFAULT_SOURCE))
    return found


def set_rows(
    settings: tuple[Setting, ...],
    configs: Mapping[str, str],
    source: int,
    default: Callable[[Setting], str],
    *,
    with_default_synonym: bool,
) -> Iterator[Row]:
    """Yield the configs of a resource that has one place of its own to set them."""
    for setting in settings:
        if setting.name in configs:
            value = setting.render(setting.parse(configs[setting.name]))
            yield row(setting, value, [synonym(setting.name, value, source)], read_only=False)
            continue
        value = default(setting)
        synonyms = [synonym(setting.name, value, DEFAULT_SOURCE)] if with_default_synonym else []
        yield row(setting, value, synonyms, read_only=False)

"""Configs as DescribeConfigs and CreateTopics show them: value, source, synonyms, type.

A topic's value comes from the topic, else from the broker's setting, else from the default; the
synonyms are these, in this order, as far as they are set.

Source: Kafka `ConfigHelper`, `DescribeConfigsResponse.ConfigSource`, `ConfigType`; KIP-226.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from duolog.broker.settings import SETTINGS
from duolog.core.settings import Kind, Setting
from duolog.log.config import BROKER_NAMES, TOPIC_SETTINGS

if TYPE_CHECKING:
    from duolog.broker.broker import Broker

DYNAMIC_TOPIC: Final = 1
STATIC_BROKER: Final = 4
DEFAULT: Final = 5

_TYPES: Final = {
    Kind.BOOLEAN: 1,
    Kind.STRING: 2,
    Kind.INT: 3,
    Kind.LONG: 5,
    Kind.DOUBLE: 6,
    Kind.LIST: 7,
}


def topic_config_rows(
    broker: "Broker", configs: Mapping[str, str], *, own_source: int = DYNAMIC_TOPIC
) -> Iterator[dict[str, Any]]:
    """Yield every config of a topic that has set `configs`."""
    effective = broker.topics.configs.effective(configs)
    for setting in TOPIC_SETTINGS:
        name = setting.name
        synonyms = []
        if name in configs:
            synonyms.append({"name": name, "value": effective[name], "source": own_source})
        synonyms += _broker_synonyms(broker, BROKER_NAMES[name])
        yield _row(setting, effective[name], synonyms, read_only=False)


def broker_config_rows(broker: "Broker") -> Iterator[dict[str, Any]]:
    """Yield every setting of the broker; all are given at its start."""
    for setting in SETTINGS:
        text = broker.settings.text(setting.name)
        yield _row(setting, text, _broker_synonyms(broker, setting.name), read_only=True)


def _broker_synonyms(broker: "Broker", name: str) -> list[dict[str, Any]]:
    row = SETTINGS.row(name)
    synonyms = []
    if name in broker.settings.given:
        text = broker.settings.text(name)
        synonyms.append({"name": name, "value": text, "source": STATIC_BROKER})
    synonyms.append({"name": name, "value": row.render(row.default), "source": DEFAULT})
    return synonyms


def _row(
    setting: Setting, value: str, synonyms: list[dict[str, Any]], *, read_only: bool
) -> dict[str, Any]:
    return {
        "name": setting.name,
        "value": value,
        "read_only": read_only,
        "config_source": synonyms[0]["source"],
        "synonyms": synonyms,
        "config_type": _TYPES[setting.kind],
        "documentation": setting.doc,
    }

"""Settings of brokers and topics, and their changes at run time.

    topic > this broker > all brokers > given at the start > default

Settings of a broker are read from this broker itself, because it alone knows what it was started
with.

Source: KIP-133, KIP-226, KIP-339, KIP-569.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from duolog.core.errors import KafkaError
from duolog.core.listening import Address
from duolog.runtime.administration.rights import ensure_answered
from duolog.runtime.administration.wire import Wire
from duolog.security.clients.brokers import Brokers

TOPIC: Final = 2
BROKER: Final = 4
ALL_BROKERS: Final = ""
"""The name that stands for what is set for all brokers at run time."""
SOURCES: Final = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "start",
    5: "default",
}
"""Places where a value is set, by Kafka's code."""
TYPES: Final = {
    1: "boolean",
    2: "string",
    3: "int",
    4: "short",
    5: "long",
    6: "double",
    7: "list",
    8: "class",
    9: "password",
}
"""Types of values, by Kafka's code."""
_DEFAULT: Final = 5
_DESCRIBE: Final = (32, 4)
_ALTER: Final = (44, 1)
_CLUSTER: Final = (60, 0)
_SET, _DELETE = 0, 1
_UNKNOWN_BROKER: Final = 42

Connect = Callable[[Brokers], Wire]


class Place(NamedTuple):
    """A place where a setting has a value; None if it is a secret or not set."""

    source: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ClusterSetting:
    """A setting with its effective value.

    Attributes:
        value: None if it is a secret or not set.
        source: where the value is set, one of `SOURCES`.
        places: all places where it is set, the effective one first.
    """

    name: str
    value: str | None
    source: str
    type: str
    documentation: str
    is_sensitive: bool
    is_dynamic: bool
    places: tuple[Place, ...]

    @property
    def default(self) -> str | None:
        """The value that the software has without any setting."""
        return next((one.value for one in self.places if one.source == SOURCES[_DEFAULT]), None)

    @property
    def changed(self) -> bool:
        """True if it is set anywhere."""
        return self.source != SOURCES[_DEFAULT]


class NamedBroker(NamedTuple):
    """A broker of the cluster."""

    id: int
    address: Address


class ClusterSettings:
    """The settings of a cluster's brokers and topics.

    Args:
        brokers: the first addresses of the cluster, and the login.
        connect: opens a connection to the first of some brokers that accepts it.

    Every method raises a KafkaError if no broker answers, or if it refuses.
    """

    def __init__(self, brokers: Brokers, connect: Connect = Wire) -> None:
        self._brokers = brokers
        self._connect = connect

    def brokers(self) -> list[NamedBroker]:
        """Return the brokers of the cluster, sorted by id."""
        with self._connect(self._brokers) as wire:
            answer = wire.ask(*_CLUSTER, include_cluster_authorized_operations=False)
        ensure_answered(answer, "list the brokers")
        return sorted(
            NamedBroker(int(one.broker_id), Address(one.host, int(one.port)))
            for one in answer.brokers
        )

    def of_topic(self, topic: str) -> list[ClusterSetting]:
        """Return every setting of a topic, sorted by name."""
        return self._described(self._brokers, TOPIC, topic)

    def of_broker(self, name: str) -> list[ClusterSetting]:
        """Return every setting of a broker, sorted by name; or what is set for all brokers."""
        return self._described(self._broker(name), BROKER, name)

    def change_topic(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None sets one back."""
        self._change(self._brokers, TOPIC, topic, changes)

    def change_broker(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change settings of a broker, or of all; None sets one back."""
        self._change(self._broker(name), BROKER, name, changes)

    def _broker(self, name: str) -> Brokers:
        if name == ALL_BROKERS:
            return self._brokers
        for one in self.brokers():
            if str(one.id) == name:
                return replace(self._brokers, servers=str(one.address))
        raise KafkaError(
            f'broker "{name}" is not in the cluster', code=_UNKNOWN_BROKER, hint="List the brokers."
        )

    def _described(self, brokers: Brokers, kind: int, name: str) -> list[ClusterSetting]:
        asked = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        with self._connect(brokers) as wire:
            answer = wire.ask(
                *_DESCRIBE, resources=[asked], include_synonyms=True, include_documentation=True
            )
        (result,) = answer.results
        ensure_answered(result, f"read the settings of {_what(kind, name)}")
        return sorted(map(_setting, result.configs), key=lambda one: one.name)

    def _change(
        self, brokers: Brokers, kind: int, name: str, changes: Mapping[str, str | None]
    ) -> None:
        configs = [
            {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
            for key, value in changes.items()
        ]
        asked = {"resource_type": kind, "resource_name": name, "configs": configs}
        with self._connect(brokers) as wire:
            answer = wire.ask(*_ALTER, resources=[asked], validate_only=False)
        for row in answer.responses:
            ensure_answered(row, f"change settings of {_what(kind, name)}")


def _setting(row: Any) -> ClusterSetting:  # Any: kio's entity.
    sensitive = bool(row.is_sensitive)
    return ClusterSetting(
        row.name,
        None if sensitive else row.value,
        _source(row.config_source),
        TYPES.get(int(row.config_type), "string"),
        row.documentation or "",
        sensitive,
        not row.read_only,
        _places(row.synonyms, sensitive=sensitive),
    )


def _places(synonyms: Sequence[Any], *, sensitive: bool) -> tuple[Place, ...]:
    return tuple(
        Place(_source(one.source), one.name, None if sensitive else one.value) for one in synonyms
    )


def _source(code: int) -> str:
    return SOURCES.get(int(code), f"source {code}")


def _what(kind: int, name: str) -> str:
    if kind == TOPIC:
        return f'topic "{name}"'
    return f'broker "{name}"' if name else "all brokers"

"""The broker's settings: Kafka's names where Kafka has one.

`durability`, `allow.insecure.listen`, `replication.factor.clamp`, `audit.log.topic`,
`connection.authentication.timeout.ms` and `max.connections.unauthenticated` are Duolog's own.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from duolog.broker.settings.consumer_groups import CONSUMER_GROUP_ROWS
from duolog.broker.settings.inert_settings import INERT_ROWS, REFUSED_ROWS
from duolog.broker.settings.listener_prefix import ListenerSettings, prefixed
from duolog.broker.settings.log_cleaner import CLEANER_SETTINGS
from duolog.broker.settings.network import CONNECTION_ROWS, LISTENER_ROWS, WATCHING_ROWS
from duolog.broker.settings.quotas import QUOTA_ROWS
from duolog.broker.settings.schema_registry import REGISTRY_ROWS
from duolog.broker.settings.security import SECURITY_ROWS
from duolog.broker.settings.tls import STORE_ROWS, UNAUTHENTICATED_ROWS
from duolog.core.setting_types import (
    Kind,
    Setting,
    Value,
    at_least,
    between,
    one_of,
)
from duolog.core.units import DAY_MS, HOUR_MS, KIB, MIB, MINUTE_MS, SECOND_MS
from duolog.log.settings import BROKER_LOG_SETTINGS
from duolog.security.logins.setting_rows import ISSUER_ROWS

_IDENTITY_ROWS: Final = (
    Setting("node.id", default=0, kind=Kind.INT, doc="The id of this broker.", check=at_least(0)),
    Setting(
        "broker.rack",
        default="",
        kind=Kind.STRING,
        doc="The rack of this broker, which is sent to clients. Empty means none.",
    ),
)

_TOPIC_ROWS: Final = (
    Setting(
        "auto.create.topics.enable",
        default=True,
        kind=Kind.BOOLEAN,
        doc="Whether a metadata request creates a missing topic.",
    ),
    Setting(
        "num.partitions",
        default=1,
        kind=Kind.INT,
        doc="The default number of partitions of a new topic.",
        check=between(1, 10_000),
    ),
    Setting(
        "replication.factor.clamp",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Whether to treat every replication factor as 1 instead of refusing one that a single "
        "broker cannot provide.",
    ),
    Setting(
        "max.request.partition.size.limit",
        default=2000,
        kind=Kind.INT,
        doc="The maximum number of partitions in a DescribeTopicPartitions response. The client "
        "gets the rest through a cursor.",
        check=at_least(1),
    ),
    Setting(
        "delete.topic.enable", default=True, kind=Kind.BOOLEAN, doc="Whether topics can be deleted."
    ),
)

_LOG_ROWS: Final = (
    Setting(
        "durability",
        default="fsync",
        kind=Kind.STRING,
        doc="When records are acknowledged. fsync: after they are on disk. os: after they are "
        "written to the page cache; a power failure may lose them.",
        check=one_of("fsync", "os"),
    ),
    Setting(
        "log.retention.check.interval.ms",
        default=5 * MINUTE_MS,
        kind=Kind.LONG,
        doc="How often the broker checks for log segments eligible for deletion.",
        check=at_least(100),
    ),
    *BROKER_LOG_SETTINGS,
    *CLEANER_SETTINGS,
)

_GROUP_ROWS: Final = (
    Setting(
        "group.initial.rebalance.delay.ms",
        default=0,
        kind=Kind.INT,
        doc="How long the first rebalance of an empty group waits for more members.",
        check=at_least(0),
    ),
    Setting(
        "group.min.session.timeout.ms",
        default=6 * SECOND_MS,
        kind=Kind.INT,
        doc="The minimum session timeout that a member can request.",
        check=at_least(1),
    ),
    Setting(
        "group.max.session.timeout.ms",
        default=30 * MINUTE_MS,
        kind=Kind.INT,
        doc="The maximum session timeout that a member can request.",
        check=at_least(1),
    ),
    Setting(
        "group.max.size",
        default=2**31 - 1,
        kind=Kind.INT,
        doc="The maximum number of members of a group.",
        check=at_least(1),
    ),
    Setting(
        "offset.metadata.max.bytes",
        default=4 * KIB,
        kind=Kind.INT,
        doc="The maximum size of the metadata of a committed offset.",
        check=at_least(0),
    ),
    Setting(
        "offsets.topic.num.partitions",
        default=16,
        kind=Kind.INT,
        doc="The number of partitions of __consumer_offsets. It is read when the topic is created "
        "and fixed after that. The cost of an fsync does not depend on it.",
        check=between(1, 1000),
    ),
    Setting(
        "offsets.retention.minutes",
        default=7 * DAY_MS // MINUTE_MS,
        kind=Kind.INT,
        doc="How long the offsets of an empty group are retained.",
        check=at_least(1),
    ),
    Setting(
        "offsets.retention.check.interval.ms",
        default=HOUR_MS // 6,
        kind=Kind.LONG,
        doc="How often the broker checks for expired offsets.",
        check=at_least(1),
    ),
)

_TRANSACTION_ROWS: Final = (
    Setting(
        "transaction.max.timeout.ms",
        default=15 * MINUTE_MS,
        kind=Kind.INT,
        doc="The maximum transaction timeout that a producer can request.",
        check=at_least(1),
    ),
    Setting(
        "transactional.id.expiration.ms",
        default=7 * DAY_MS,
        kind=Kind.INT,
        doc="How long an unused transactional id is retained.",
        check=at_least(1),
    ),
    Setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        default=10 * SECOND_MS,
        kind=Kind.INT,
        doc="How often the broker checks for transactions that have timed out.",
        check=at_least(1),
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        default=HOUR_MS,
        kind=Kind.INT,
        doc="How often the broker checks for expired transactional ids.",
        check=at_least(1),
    ),
    Setting(
        "transaction.state.log.num.partitions",
        default=16,
        kind=Kind.INT,
        doc="The number of partitions of __transaction_state. It is read when the topic is "
        "created and fixed after that.",
        check=between(1, 1000),
    ),
    Setting(
        "transaction.state.log.segment.bytes",
        default=100 * MIB,
        kind=Kind.INT,
        doc="The segment.bytes of __transaction_state. It is read when the topic is created.",
        check=at_least(MIB),
    ),
)

_THROTTLE_ROWS: Final = tuple(
    Setting(
        name,
        default=2**63 - 1,
        kind=Kind.LONG,
        doc="Kept, no effect: nothing is replicated. kafka-reassign-partitions --throttle sets it.",
        check=at_least(0),
    )
    for name in (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
)

_TIME_ROWS: Final = (
    Setting(
        "log.retention.minutes",
        default=-1,
        kind=Kind.INT,
        doc="log.retention.ms in minutes, used if that is not set.",
        check=at_least(-1),
    ),
    Setting(
        "log.retention.hours",
        default=168,
        kind=Kind.INT,
        doc="log.retention.ms in hours, used if neither that nor log.retention.minutes is set.",
        check=at_least(-1),
    ),
    Setting(
        "log.roll.hours",
        default=168,
        kind=Kind.INT,
        doc="log.roll.ms in hours, used if that is not set.",
        check=at_least(1),
    ),
    Setting(
        "log.roll.jitter.hours",
        default=0,
        kind=Kind.INT,
        doc="log.roll.jitter.ms in hours, used if that is not set.",
        check=at_least(0),
    ),
)

OTHER_UNITS: Final = {
    "log.retention.ms": (("log.retention.minutes", MINUTE_MS), ("log.retention.hours", HOUR_MS)),
    "log.roll.ms": (("log.roll.hours", HOUR_MS),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", HOUR_MS),),
}
"""Settings that Kafka knows in several units, the strongest first."""

_PER_LISTENER: Final = (
    # Kafka's files have these for listeners, too, such as sasl.server.callback.handler.class.
    *(row.name for row in INERT_ROWS if row.name.startswith(("sasl.", "ssl."))),
    *(row.name for row in STORE_ROWS),
    *(row.name for row in ISSUER_ROWS),
    "sasl.enabled.mechanisms",
    "connections.max.reauth.ms",
)

SETTINGS: Final = ListenerSettings(
    LISTENER_ROWS
    + STORE_ROWS
    + UNAUTHENTICATED_ROWS
    + CONNECTION_ROWS
    + QUOTA_ROWS
    + WATCHING_ROWS
    + _IDENTITY_ROWS
    + _TOPIC_ROWS
    + _LOG_ROWS
    + _TIME_ROWS
    + _THROTTLE_ROWS
    + _GROUP_ROWS
    + CONSUMER_GROUP_ROWS
    + _TRANSACTION_ROWS
    + REGISTRY_ROWS
    + SECURITY_ROWS
    + REFUSED_ROWS
    + INERT_ROWS,
    subject="broker setting",
    per_listener=_PER_LISTENER,
)


def without_effect(names: Iterable[str]) -> list[str]:
    """Return those of the names that are settings and mean nothing here."""
    return [name for name in names if name in SETTINGS and SETTINGS.row(name).inert]


class BrokerSettings:
    """The values of one broker, each read by the kind of its row.

    own (this broker, at run time) > default (all brokers, at run time) > static (at the start)

    `values` is one object for the whole life of the broker: who holds it sees every change.
    """

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        """Check what is given at the start, and take the defaults for the rest.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed.
        """
        self.static: Mapping[str, str] = dict(given or {})
        self.default: Mapping[str, str] = {}
        self.own: Mapping[str, str] = {}
        self._values = _values(self.static)
        self.values: Mapping[str, Value] = self._values

    def change(self, *, default: Mapping[str, str], own: Mapping[str, str]) -> set[str]:
        """Use other settings of run time from now on; returns the names with another value.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed; nothing is changed.
        """
        values = _values({**self.static, **default, **own})
        self.default, self.own = dict(default), dict(own)
        changed = {name for name, value in values.items() if value != self._values.get(name)}
        for name in self._values.keys() - values.keys():  # Of one listener, and set no more.
            del self._values[name]
            changed.add(name)
        self._values.update(values)
        return changed

    def integer(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def number(self, name: str) -> float:
        value = self.values[name]
        assert isinstance(value, int | float)
        return value

    def boolean(self, name: str) -> bool:
        value = self.values[name]
        assert isinstance(value, bool)
        return value

    def of_listener(self, listener: str, name: str) -> str:
        """Return the text of a setting for a listener: its own, or that of all listeners."""
        own = prefixed(listener, name)
        return self.text(own if own in self.values else name)

    def of_mechanism(self, listener: str, mechanism: str, name: str) -> str:
        """Return the text of a setting for a SASL mechanism: its own, or that of the listener."""
        own = prefixed(f"{listener}.{mechanism}", name)
        return self.text(own) if own in self.values else self.of_listener(listener, name)

    def text(self, name: str) -> str:
        """Return any setting as the text that it is given in."""
        return SETTINGS.row(name).render(self.values[name])


def _values(given: Mapping[str, str]) -> dict[str, Value]:
    values = SETTINGS.parse(given)
    for name, others in OTHER_UNITS.items():
        if name in given:
            continue
        for other, factor in others:
            value = values[other]
            assert isinstance(value, int)
            if other in given:
                values[name] = value * factor if value >= 0 else -1
                break
    return values

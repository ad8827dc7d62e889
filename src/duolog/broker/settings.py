"""The broker's settings: Kafka's names where Kafka has one.

`durability`, `allow.insecure.listen` and `replication.factor.clamp` are Duolog's own.
"""

from collections.abc import Mapping
from typing import Final

from duolog.core.settings import (
    Importance,
    Kind,
    Setting,
    Settings,
    Value,
    at_least,
    between,
    one_of,
)
from duolog.core.units import DAY_MS, HOUR_MS, KIB, MIB, MINUTE_MS, SECOND_MS
from duolog.log.config import BROKER_LOG_SETTINGS

_LISTEN_ROWS: Final = (
    Setting(
        "allow.insecure.listen",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Listen beyond loopback although nobody is asked who they are.",
        importance=Importance.HIGH,
    ),
    Setting("node.id", default=0, kind=Kind.INT, doc="This broker's id.", check=at_least(0)),
    Setting(
        "socket.request.max.bytes",
        default=100 * MIB,
        kind=Kind.INT,
        doc="The largest request; a larger one closes its connection.",
        check=at_least(KIB),
    ),
    Setting(
        "max.connections",
        default=10_000,
        kind=Kind.INT,
        doc="Connections at one time; a further one is closed at once.",
        check=at_least(1),
    ),
    Setting(
        "fetch.max.bytes",
        default=55 * MIB,
        kind=Kind.INT,
        doc="The most bytes of records in one fetch answer.",
        check=at_least(KIB),
    ),
)

_TOPIC_ROWS: Final = (
    Setting(
        "auto.create.topics.enable",
        default=True,
        kind=Kind.BOOLEAN,
        doc="Make a topic when a client asks for its metadata.",
    ),
    Setting(
        "num.partitions",
        default=1,
        kind=Kind.INT,
        doc="Partitions of a topic that does not say how many.",
        check=between(1, 10_000),
    ),
    Setting(
        "replication.factor.clamp",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Take any replication factor as 1, instead of refusing what one broker cannot do.",
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
        doc="fsync: an acknowledged record is on the disk. os: it is with the operating system, "
        "and a power failure may lose it.",
        check=one_of("fsync", "os"),
        importance=Importance.HIGH,
    ),
    Setting(
        "log.retention.check.interval.ms",
        default=5 * MINUTE_MS,
        kind=Kind.LONG,
        doc="How often segments are looked at that are too old or too much.",
        check=at_least(100),
    ),
    *BROKER_LOG_SETTINGS,
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
        doc="The shortest session timeout that a member may ask for.",
        check=at_least(1),
    ),
    Setting(
        "group.max.session.timeout.ms",
        default=30 * MINUTE_MS,
        kind=Kind.INT,
        doc="The longest session timeout that a member may ask for.",
        check=at_least(1),
    ),
    Setting(
        "group.max.size",
        default=2**31 - 1,
        kind=Kind.INT,
        doc="Members of one group.",
        check=at_least(1),
    ),
    Setting(
        "offset.metadata.max.bytes",
        default=4 * KIB,
        kind=Kind.INT,
        doc="The longest text that may be committed with an offset.",
        check=at_least(0),
    ),
    Setting(
        "offsets.topic.num.partitions",
        default=16,
        kind=Kind.INT,
        doc="Partitions of __consumer_offsets, read when it is made and fixed after that. What "
        "an fsync costs does not depend on it.",
        check=between(1, 1000),
    ),
    Setting(
        "offsets.retention.minutes",
        default=7 * DAY_MS // MINUTE_MS,
        kind=Kind.INT,
        doc="How long the offsets of an empty group are kept.",
        check=at_least(1),
    ),
    Setting(
        "offsets.retention.check.interval.ms",
        default=HOUR_MS // 6,
        kind=Kind.LONG,
        doc="How often offsets are looked at that are too old.",
        check=at_least(1),
    ),
)

SETTINGS: Final = Settings(
    _LISTEN_ROWS + _TOPIC_ROWS + _LOG_ROWS + _GROUP_ROWS, subject="broker setting"
)


class BrokerSettings:
    """The values of one broker, each read by the kind of its row."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        """Check what is given, and take the defaults for the rest.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed.
        """
        self.values: Mapping[str, Value] = SETTINGS.parse(given or {})
        self.given = frozenset(given or ())

    def integer(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def boolean(self, name: str) -> bool:
        value = self.values[name]
        assert isinstance(value, bool)
        return value

    def text(self, name: str) -> str:
        """Return any setting as the text that it is given in."""
        return SETTINGS.row(name).render(self.values[name])

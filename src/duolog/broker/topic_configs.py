"""The configs of a topic: Kafka's names, defaults and checks.

A topic keeps only what was set for it, as text. What is in force is that, over what the broker
is set to (`log.retention.ms` for `retention.ms`), over the default of the row.

What is stored but has no effect yet says so in its row: a client reads it back as it was set.
`compression.type` other than `producer` is accepted and batches are kept as they were sent.

Source: Kafka `org.apache.kafka.common.config.TopicConfig`, `LogConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.settings import Kind, Setting, Settings, Value, at_least, between, one_of
from duolog.core.units import DAY_MS, GIB, KIB, MIB, MINUTE_MS

_FOREVER: Final = 2**63 - 1

TOPIC_CONFIGS: Final = Settings(
    (
        Setting(
            "cleanup.policy",
            default=("delete",),
            kind=Kind.LIST,
            doc="What happens to old segments: delete, compact or both.",
            check=one_of("delete", "compact"),
        ),
        Setting(
            "compression.type",
            default="producer",
            kind=Kind.STRING,
            doc="Kept, no effect: batches are stored as they were sent.",
            check=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        ),
        Setting(
            "delete.retention.ms",
            default=DAY_MS,
            kind=Kind.LONG,
            doc="How long tombstones of a compacted topic are kept.",
            check=at_least(0),
        ),
        Setting(
            "file.delete.delay.ms",
            default=MINUTE_MS,
            kind=Kind.LONG,
            doc="Kept, no effect: files are deleted at once.",
            check=at_least(0),
        ),
        Setting(
            "flush.messages",
            default=_FOREVER,
            kind=Kind.LONG,
            doc="Kept, no effect: durability says when a log is synced.",
            check=at_least(1),
        ),
        Setting(
            "flush.ms",
            default=_FOREVER,
            kind=Kind.LONG,
            doc="Kept, no effect: durability says when a log is synced.",
            check=at_least(0),
        ),
        Setting(
            "follower.replication.throttled.replicas",
            default=(),
            kind=Kind.LIST,
            doc="Kept, no effect: there are no followers.",
        ),
        Setting(
            "index.interval.bytes",
            default=4 * KIB,
            kind=Kind.INT,
            doc="Bytes of records between two entries of the offset index.",
            check=at_least(0),
        ),
        Setting(
            "leader.replication.throttled.replicas",
            default=(),
            kind=Kind.LIST,
            doc="Kept, no effect: there are no followers.",
        ),
        Setting(
            "local.retention.bytes",
            default=-2,
            kind=Kind.LONG,
            doc="Kept, no effect: there is no remote storage.",
            check=at_least(-2),
        ),
        Setting(
            "local.retention.ms",
            default=-2,
            kind=Kind.LONG,
            doc="Kept, no effect: there is no remote storage.",
            check=at_least(-2),
        ),
        Setting(
            "max.compaction.lag.ms",
            default=_FOREVER,
            kind=Kind.LONG,
            doc="The longest time that a record stays uncompacted.",
            check=at_least(1),
        ),
        Setting(
            "max.message.bytes",
            default=1 * MIB + 12,
            kind=Kind.INT,
            doc="The largest record batch.",
            check=at_least(0),
        ),
        Setting(
            "message.timestamp.after.max.ms",
            default=60 * MINUTE_MS,
            kind=Kind.LONG,
            doc="How far a record's time may lie ahead of the broker's.",
            check=at_least(0),
        ),
        Setting(
            "message.timestamp.before.max.ms",
            default=_FOREVER,
            kind=Kind.LONG,
            doc="How far a record's time may lie behind the broker's.",
            check=at_least(0),
        ),
        Setting(
            "message.timestamp.type",
            default="CreateTime",
            kind=Kind.STRING,
            doc="Whose time a record carries.",
            check=one_of("CreateTime", "LogAppendTime"),
        ),
        Setting(
            "min.cleanable.dirty.ratio",
            default=0.5,
            kind=Kind.DOUBLE,
            doc="How much of a log must be uncompacted before it is compacted.",
            check=between(0, 1),
        ),
        Setting(
            "min.compaction.lag.ms",
            default=0,
            kind=Kind.LONG,
            doc="The shortest time that a record stays uncompacted.",
            check=at_least(0),
        ),
        Setting(
            "min.insync.replicas",
            default=1,
            kind=Kind.INT,
            doc="Kept, no effect: there is one replica.",
            check=at_least(1),
        ),
        Setting(
            "preallocate",
            default=False,
            kind=Kind.BOOLEAN,
            doc="Kept, no effect: files grow as they are written.",
        ),
        Setting(
            "remote.storage.enable",
            default=False,
            kind=Kind.BOOLEAN,
            doc="Kept, no effect: there is no remote storage.",
        ),
        Setting(
            "retention.bytes",
            default=-1,
            kind=Kind.LONG,
            doc="How much of a partition is kept; -1 keeps all.",
            check=at_least(-1),
        ),
        Setting(
            "retention.ms",
            default=7 * DAY_MS,
            kind=Kind.LONG,
            doc="How long records are kept; -1 keeps them for ever.",
            check=at_least(-1),
        ),
        Setting(
            "segment.bytes",
            default=1 * GIB,
            kind=Kind.INT,
            doc="Size at which a segment is rolled.",
            check=at_least(1 * MIB),
        ),
        Setting(
            "segment.index.bytes",
            default=10 * MIB,
            kind=Kind.INT,
            doc="Kept, no effect: an index grows with its segment.",
            check=at_least(4),
        ),
        Setting(
            "segment.jitter.ms",
            default=0,
            kind=Kind.LONG,
            doc="Kept, no effect: segments are rolled at their age.",
            check=at_least(0),
        ),
        Setting(
            "segment.ms",
            default=7 * DAY_MS,
            kind=Kind.LONG,
            doc="Age at which a segment is rolled.",
            check=at_least(1),
        ),
        Setting(
            "unclean.leader.election.enable",
            default=False,
            kind=Kind.BOOLEAN,
            doc="Kept, no effect: there is one replica.",
        ),
    ),
    subject="topic config",
)

BROKER_SYNONYMS: Final = {
    "cleanup.policy": "log.cleanup.policy",
    "index.interval.bytes": "log.index.interval.bytes",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.type": "log.message.timestamp.type",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.ms": "log.roll.ms",
}
"""The broker's setting that a topic config takes its value from when the topic has none."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """What the produce path asks of a topic, ready to compare."""

    batch_bytes_max: int
    log_append_time: bool
    compacted: bool
    timestamp_before_ms_max: int
    timestamp_after_ms_max: int


class TopicConfigs:
    """The configs of all topics of one broker."""

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings

    def check(self, configs: Mapping[str, str]) -> None:
        """Refuse what no topic can be set to.

        Raises:
            ConfigError: a name is unknown, and the hint names the nearest; or a value is bad.
        """
        TOPIC_CONFIGS.parse(configs)
        if "cleanup.policy" in configs and not configs["cleanup.policy"].strip():
            raise ConfigError(
                'topic config "cleanup.policy" must be one of delete, compact',
                name="cleanup.policy",
                value="",
            )

    def effective(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return every config as text: the topic's own, the broker's, or the default."""
        texts = {}
        for row in TOPIC_CONFIGS:
            texts[row.name] = configs.get(row.name) or self.default(row.name)
        return texts

    def default(self, name: str) -> str:
        """Return what a topic that does not set `name` has, as text."""
        synonym = BROKER_SYNONYMS.get(name)
        if synonym is not None:
            return self._settings.text(synonym)
        row = TOPIC_CONFIGS.row(name)
        return row.render(row.default)

    def for_produce(self, configs: Mapping[str, str]) -> TopicConfig:
        """Return what the produce path compares with."""
        values = TOPIC_CONFIGS.parse(self.effective(configs))
        return TopicConfig(
            batch_bytes_max=_integer(values["max.message.bytes"]),
            log_append_time=values["message.timestamp.type"] == "LogAppendTime",
            compacted="compact" in _items(values["cleanup.policy"]),
            timestamp_before_ms_max=_integer(values["message.timestamp.before.max.ms"]),
            timestamp_after_ms_max=_integer(values["message.timestamp.after.max.ms"]),
        )


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _items(value: Value) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value

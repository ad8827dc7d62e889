"""The table of the settings of logs: each row is a topic setting and its default in the broker.

A topic setting `retention.ms` has its default in the broker setting `log.retention.ms`.
"""

import re
from typing import Final, NamedTuple

from duolog.core.setting_types import (
    Check,
    Kind,
    Setting,
    Settings,
    Value,
    at_least,
    between,
    one_of,
)
from duolog.core.units import DAY_MS, GIB, HOUR_MS, INT32_MAX, INT64_MAX, MIB
from duolog.schemas.subject_names import SubjectStrategy, strategy_of


class _Row(NamedTuple):
    topic_name: str
    broker_name: str | None
    default: Value
    kind: Kind
    doc: str
    check: Check | None = None


_THROTTLED: Final = re.compile(r"\d+:\d+")


def _throttled_replicas(value: Value) -> str | None:
    assert isinstance(value, tuple)
    if value == ("*",) or all(_THROTTLED.fullmatch(item) for item in value):
        return None
    return "must be * or items like 0:1 (partition:broker)"


def _gzip_level(value: Value) -> str | None:
    assert isinstance(value, int)
    return None if value == -1 or 1 <= value <= 9 else "must be -1, or between 1 and 9"


def _subject_strategy(value: Value) -> str | None:
    if strategy_of(str(value)) is not None:
        return None
    return f"must be one of {', '.join(one.class_name for one in SubjectStrategy)}"


_ROWS: Final = (
    _Row(
        "cleanup.policy",
        "log.cleanup.policy",
        ("delete",),
        Kind.LIST,
        "The cleanup policy of old data: delete (by time and size), compact (keep the last record "
        "of each key), or both.",
        one_of("delete", "compact"),
    ),
    _Row(
        "retention.ms",
        "log.retention.ms",
        7 * DAY_MS,
        Kind.LONG,
        "The age of the newest record of a segment at which the segment is deleted. -1 means no "
        "limit.",
        at_least(-1),
    ),
    _Row(
        "retention.bytes",
        "log.retention.bytes",
        -1,
        Kind.LONG,
        "The size of a partition above which its oldest segments are deleted. A negative value "
        "means no limit.",
    ),
    _Row(
        "segment.bytes",
        "log.segment.bytes",
        GIB,
        Kind.INT,
        "The size at which a segment is rolled.",
        between(1024, INT32_MAX),
    ),
    _Row(
        "segment.ms",
        "log.roll.ms",
        7 * DAY_MS,
        Kind.LONG,
        "The span of record timestamps after which a segment is rolled.",
        at_least(1),
    ),
    _Row(
        "index.interval.bytes",
        "log.index.interval.bytes",
        4096,
        Kind.INT,
        "The number of bytes of records between two entries of the offset index.",
        at_least(0),
    ),
    _Row(
        "max.message.bytes",
        "message.max.bytes",
        MIB + 12,
        Kind.INT,
        "The maximum size of a record batch.",
        at_least(0),
    ),
    _Row(
        "message.timestamp.type",
        "log.message.timestamp.type",
        "CreateTime",
        Kind.STRING,
        "Whether a record's timestamp is set by the client (CreateTime) or by the broker "
        "(LogAppendTime).",
        one_of("CreateTime", "LogAppendTime"),
    ),
    _Row(
        "compression.type",
        "compression.type",
        "producer",
        Kind.STRING,
        "Kept, no effect: batches are stored as the producer compressed them.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _Row(
        "compression.gzip.level",
        "compression.gzip.level",
        -1,
        Kind.INT,
        "Kept, no effect: batches are stored as the producer compressed them. -1, or 1 to 9.",
        _gzip_level,
    ),
    _Row(
        "compression.lz4.level",
        "compression.lz4.level",
        9,
        Kind.INT,
        "Kept, no effect: batches are stored as the producer compressed them.",
        between(1, 17),
    ),
    _Row(
        "compression.zstd.level",
        "compression.zstd.level",
        3,
        Kind.INT,
        "Kept, no effect: batches are stored as the producer compressed them.",
        between(-131_072, 22),
    ),
    _Row(
        "delete.retention.ms",
        "log.cleaner.delete.retention.ms",
        DAY_MS,
        Kind.LONG,
        "How long the cleaner retains tombstones of a compacted topic.",
        at_least(0),
    ),
    _Row(
        "min.insync.replicas",
        "min.insync.replicas",
        1,
        Kind.INT,
        "Kept, no effect: it is never more than the number of replicas, as in Kafka, and a "
        "partition has one. acks=all waits for that one.",
        at_least(1),
    ),
    _Row(
        "message.timestamp.after.max.ms",
        "log.message.timestamp.after.max.ms",
        HOUR_MS,
        Kind.LONG,
        "How far a record's timestamp may be after the broker's time.",
        at_least(0),
    ),
    _Row(
        "message.timestamp.before.max.ms",
        "log.message.timestamp.before.max.ms",
        INT64_MAX,
        Kind.LONG,
        "How far a record's timestamp may be before the broker's time.",
        at_least(0),
    ),
    _Row(
        "min.cleanable.dirty.ratio",
        "log.cleaner.min.cleanable.ratio",
        0.5,
        Kind.DOUBLE,
        "The minimum ratio of the dirty part of a log to the whole log for the log to be "
        "compacted.",
        between(0, 1),
    ),
    _Row(
        "min.compaction.lag.ms",
        "log.cleaner.min.compaction.lag.ms",
        0,
        Kind.LONG,
        "The minimum time that a record remains uncompacted.",
        at_least(0),
    ),
    _Row(
        "max.compaction.lag.ms",
        "log.cleaner.max.compaction.lag.ms",
        INT64_MAX,
        Kind.LONG,
        "The maximum time that a record remains uncompacted.",
        at_least(1),
    ),
    _Row(
        "segment.index.bytes",
        "log.index.size.max.bytes",
        10 * MIB,
        Kind.INT,
        "Kept, no effect: an index grows with its segment.",
        at_least(4),
    ),
    _Row(
        "segment.jitter.ms",
        "log.roll.jitter.ms",
        0,
        Kind.LONG,
        "Kept, no effect: segments are rolled at their age.",
        at_least(0),
    ),
    _Row(
        "file.delete.delay.ms",
        "log.segment.delete.delay.ms",
        60_000,
        Kind.LONG,
        "Kept, no effect: files are removed at once.",
        at_least(0),
    ),
    _Row(
        "flush.messages",
        "log.flush.interval.messages",
        INT64_MAX,
        Kind.LONG,
        "Kept, no effect: durability says when a log is synced.",
        at_least(1),
    ),
    _Row(
        "flush.ms",
        "log.flush.interval.ms",
        INT64_MAX,
        Kind.LONG,
        "Kept, no effect: durability says when a log is synced.",
        at_least(0),
    ),
    _Row(
        "preallocate",
        "log.preallocate",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Kept, no effect: files grow as they are written.",
    ),
    _Row(
        "unclean.leader.election.enable",
        "unclean.leader.election.enable",
        default=False,
        kind=Kind.BOOLEAN,
        doc="Kept, no effect: one node has one replica.",
    ),
    _Row(
        "leader.replication.throttled.replicas",
        None,
        (),
        Kind.LIST,
        "Kept, no effect: nothing is replicated. * or items PARTITION:BROKER.",
        _throttled_replicas,
    ),
    _Row(
        "follower.replication.throttled.replicas",
        None,
        (),
        Kind.LIST,
        "Kept, no effect: nothing is replicated. * or items PARTITION:BROKER.",
        _throttled_replicas,
    ),
    _Row(
        "remote.storage.enable",
        None,
        default=False,
        kind=Kind.BOOLEAN,
        doc="There is no tiered storage: true is refused, as by a Kafka without one.",
    ),
    _Row(
        "remote.log.copy.disable",
        None,
        default=False,
        kind=Kind.BOOLEAN,
        doc="Kept, no effect: there is no tiered storage.",
    ),
    _Row(
        "remote.log.delete.on.disable",
        None,
        default=False,
        kind=Kind.BOOLEAN,
        doc="Kept, no effect: there is no tiered storage.",
    ),
    *(
        row
        for part in ("key", "value")
        for row in (
            _Row(
                f"confluent.{part}.schema.validation",
                None,
                default=False,
                kind=Kind.BOOLEAN,
                doc=f"Whether to refuse record batches in which the {part} of a record has no "
                "schema id, or one that is not registered under the subject. A null passes. The "
                "broker needs a schema registry.",
            ),
            _Row(
                f"confluent.{part}.subject.name.strategy",
                None,
                SubjectStrategy.TOPIC_NAME.class_name,
                Kind.STRING,
                f"The rule that names the subject of a {part}, for schema validation: "
                "TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy.",
                _subject_strategy,
            ),
        )
    ),
    _Row(
        "local.retention.bytes",
        "log.local.retention.bytes",
        -2,
        Kind.LONG,
        "Kept, no effect: there is no tiered storage.",
        at_least(-2),
    ),
    _Row(
        "local.retention.ms",
        "log.local.retention.ms",
        -2,
        Kind.LONG,
        "Kept, no effect: there is no tiered storage.",
        at_least(-2),
    ),
)

TOPIC_SETTINGS: Final = Settings(
    tuple(Setting(r.topic_name, r.default, r.kind, r.doc, r.check) for r in _ROWS),
    subject="topic setting",
)

BROKER_LOG_SETTINGS: Final = (
    *(Setting(r.broker_name, r.default, r.kind, r.doc, r.check) for r in _ROWS if r.broker_name),
    Setting(
        "log.recovery.point.bytes",
        64 * MIB,
        Kind.LONG,
        "The number of bytes written to a partition after which a new recovery point is set. At "
        "most this much of a partition is read again after a crash.",
        at_least(1),
    ),
    Setting(
        "num.recovery.threads.per.data.dir",
        16,
        Kind.INT,
        "The number of threads that sync the logs at shutdown. The file system combines several "
        "syncs into one commit.",
        at_least(1),
    ),
    Setting(
        "log.recovery.bytes.max",
        512 * MIB,
        Kind.LONG,
        "The number of bytes of all partitions together that a start after a crash may have to "
        "read again. Above it, recovery points are set early.",
        at_least(1),
    ),
    Setting(
        "log.journal.bytes",
        32 * MIB,
        Kind.LONG,
        "The size at which the journal, which syncs many partitions with one fsync, is restarted.",
        at_least(1),
    ),
    Setting(
        "log.open.files.max",
        0,
        Kind.INT,
        "The maximum number of open segment files. 0 means 4096, or half of the file descriptors "
        "of the process if that is less.",
        at_least(0),
    ),
    Setting(
        "producer.id.expiration.ms",
        DAY_MS,
        Kind.INT,
        "How long an idle idempotent producer is remembered.",
        at_least(1),
    ),
)
"""Rows for the broker's own settings; `LogManager` reads the values under these names."""

BROKER_NAMES: Final = {row.topic_name: row.broker_name for row in _ROWS if row.broker_name}
"""A map from a topic setting to the broker setting with its default, if there is one."""

EXTENSIONS: Final = frozenset(
    row.topic_name for row in _ROWS if row.topic_name.startswith("confluent.")
)
"""Topic settings that Apache Kafka does not have."""

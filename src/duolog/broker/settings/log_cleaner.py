"""The broker's settings for the compaction process, under Kafka's names."""

from typing import Final

from duolog.core.setting_types import Kind, Setting, at_least, between
from duolog.core.units import KIB, MIB, SECOND_MS

_DOUBLE_MAX: Final = 1.7976931348623157e308

CLEANER_SETTINGS: Final = (
    Setting(
        "log.cleaner.enable",
        default=True,
        kind=Kind.BOOLEAN,
        doc="Whether the logs of topics with cleanup.policy=compact are compacted.",
    ),
    Setting(
        "log.cleaner.threads",
        default=1,
        kind=Kind.INT,
        doc="Kept, no effect: one process compacts one log after the other.",
        check=at_least(0),
    ),
    Setting(
        "log.cleaner.dedupe.buffer.size",
        default=128 * MIB,
        kind=Kind.LONG,
        doc="The memory for the keys of one compaction run, 24 bytes per key. A log with more new "
        "keys is compacted in several runs.",
        check=at_least(MIB),
    ),
    Setting(
        "log.cleaner.io.buffer.size",
        default=512 * KIB,
        kind=Kind.INT,
        doc="The number of bytes read from a segment at a time.",
        check=at_least(KIB),
    ),
    Setting(
        "log.cleaner.io.buffer.load.factor",
        default=0.9,
        kind=Kind.DOUBLE,
        doc="The maximum fill ratio of log.cleaner.dedupe.buffer.size.",
        check=between(0.01, 1),
    ),
    Setting(
        "log.cleaner.io.max.bytes.per.second",
        default=_DOUBLE_MAX,
        kind=Kind.DOUBLE,
        doc="The maximum number of bytes that the cleaner reads and writes per second.",
        check=at_least(1),
    ),
    Setting(
        "log.cleaner.backoff.ms",
        default=15 * SECOND_MS,
        kind=Kind.LONG,
        doc="The time to wait if no log needs compaction.",
        check=at_least(0),
    ),
)

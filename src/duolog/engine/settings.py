"""The settings of the engine as rows, and the frozen form that the engine works with.

Kafka's names where Kafka Streams has the setting; units stand in the fields of `EngineConfig`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Literal

from duolog.core.settings import Importance, Kind, Setting, Settings, Value, at_least, one_of
from duolog.core.units import GIB, MIB, MINUTE_MS
from duolog.engine.timestamps import EXTRACTORS, PREFIX

Mode = Literal["auto", "micro-batch", "real-time"]

MICRO_BATCH_INTERVAL_MS: Final = 100
EPOCH_MS_DEFAULT: Final = MINUTE_MS
"""Length of an epoch in real-time mode: what is computed again, at most, after a crash or a stop."""
OFFSETS_PER_TRIGGER_MAX_DEFAULT: Final = 500_000
TASK_TIMEOUT_MS_DEFAULT: Final = 5 * MINUTE_MS
# A task holds a micro-batch several times: bytes from Kafka, rows, rows in the shuffle.
_HEAP_OF_A_MICRO_BATCH: Final = 1 / 16
CACHE_BYTES_MAX_DEFAULT: Final = 10 * MIB
STATE_MEMORY_BYTES_MAX_DEFAULT: Final = 256 * MIB
DRIVER_MEMORY_BYTES_DEFAULT: Final = 2 * GIB
AUTO_LAG_RECORDS_MAX_DEFAULT: Final = 10_000
LOG_AND_CONTINUE: Final = "log_and_continue"
LOG_AND_FAIL: Final = "log_and_fail"
HANDLERS: Final = (LOG_AND_CONTINUE, LOG_AND_FAIL)
# Slots are not cores: a real-time query holds one for each source partition and each task of each
# level, waiting most of the time. Threads that wait cost nothing.
MASTER_DEFAULT: Final = "local[64]"

ENGINE_SETTINGS: Final = Settings(
    (
        Setting(
            "master",
            MASTER_DEFAULT,
            Kind.STRING,
            "Spark master. In local[n], n counts slots and not cores.",
            importance=Importance.HIGH,
        ),
        Setting(
            "tasks",
            0,
            Kind.INT,
            "Tasks of an application; 0 takes the largest partition count of its source topics. "
            "Fixed by the first start.",
            at_least(0),
        ),
        Setting(
            "epoch.ms",
            EPOCH_MS_DEFAULT,
            Kind.LONG,
            "Length of an epoch in real-time mode: what is computed again, at most, after a crash or a stop.",
            at_least(1000),
        ),
        Setting(
            "max.offsets.per.trigger",
            OFFSETS_PER_TRIGGER_MAX_DEFAULT,
            Kind.LONG,
            "Records that one micro-batch reads at most.",
            at_least(1),
        ),
        Setting(
            "max.bytes.per.trigger",
            0,
            Kind.LONG,
            "Bytes of keys and values that one micro-batch reads at most, by the sizes of records seen "
            "so far; 0 takes a sixteenth of driver.memory.bytes.",
            at_least(0),
        ),
        Setting(
            "task.timeout.ms",
            TASK_TIMEOUT_MS_DEFAULT,
            Kind.LONG,
            "How long a query whose broker or JVM is away is started again, with growing pauses, before "
            "it fails; 0 fails at once.",
            at_least(0),
        ),
        Setting(
            "statestore.cache.max.bytes",
            CACHE_BYTES_MAX_DEFAULT,
            Kind.LONG,
            "Write-back cache of aggregates in micro-batches; 0 emits every update.",
            at_least(0),
        ),
        Setting(
            "state.memory.max.bytes",
            STATE_MEMORY_BYTES_MAX_DEFAULT,
            Kind.LONG,
            "Memory that the state stores of one process share.",
            at_least(16 * MIB),
        ),
        Setting(
            "driver.memory.bytes",
            DRIVER_MEMORY_BYTES_DEFAULT,
            Kind.LONG,
            "Heap of the JVM; read once, when the session starts.",
            at_least(512 * MIB),
        ),
        Setting(
            "class.archive",
            True,  # noqa: FBT003 - a default
            Kind.BOOLEAN,
            "Keep an archive of the JVM's classes in the cache directory, 190 MB: later runs start with a quarter less "
            "work. The JVM of a first run makes it, and goes on for that once the run has ended.",
            importance=Importance.LOW,
        ),
        Setting(
            "auto.lag.records.max",
            AUTO_LAG_RECORDS_MAX_DEFAULT,
            Kind.LONG,
            "Mode auto goes live in real time once it is behind by no more than this.",
            at_least(1),
        ),
        Setting(
            "deserialization.exception.handler",
            LOG_AND_CONTINUE,
            Kind.STRING,
            "What becomes of a record whose bytes cannot be read, or whose timestamp is negative or behind "
            "the year 294246: log_and_continue passes it over, log_and_fail ends the query.",
            one_of(*HANDLERS),
        ),
        Setting(
            "processing.exception.handler",
            LOG_AND_FAIL,
            Kind.STRING,
            "What becomes of a record that cannot be processed: an overflow of a sum, a pattern that "
            "is none.",
            one_of(*HANDLERS),
        ),
        Setting(
            "production.exception.handler",
            LOG_AND_FAIL,
            Kind.STRING,
            "What becomes of a result that the broker refuses, such as one that is too large. What "
            "may succeed later, as when no broker answers, is no matter of this handler.",
            one_of(*HANDLERS),
        ),
        Setting(
            "lost.records.handler",
            LOG_AND_CONTINUE,
            Kind.STRING,
            "What becomes of a query whose next records were deleted before it has read them, by retention say: "
            "log_and_continue goes on with the first one that is left and counts the others, log_and_fail ends the "
            "query. In real-time mode the query ends.",
            one_of(*HANDLERS),
        ),
        Setting(
            "errors.dead.letter.queue.topic.name",
            "",
            Kind.STRING,
            "Topic for records that were passed over, as they were read, with what was wrong in "
            "their headers. Empty: they are logged and counted only.",
        ),
        Setting(
            "default.timestamp.extractor",
            "",
            Kind.STRING,
            "What becomes of a record with an invalid timestamp, where its source does not say: "
            "FailOnInvalidTimestamp, LogAndSkipOnInvalidTimestamp, UsePartitionTimeOnInvalidTimestamp; "
            "WallclockTimestampExtractor takes the clock instead. Empty: it is one that cannot be read.",
            one_of("", *EXTRACTORS, *(PREFIX + name for name in EXTRACTORS)),
        ),
        Setting(
            "connector",
            "",
            Kind.STRING,
            "Another Kafka connector: a directory of jars, or group:artifact:version@sha256 items.",
            importance=Importance.LOW,
        ),
    ),
    subject="engine setting",
)


@dataclass(frozen=True, slots=True)
class ErrorHandling:
    """What becomes of records that cannot be read, processed or written, and of their bytes."""

    deserialization: str = LOG_AND_CONTINUE
    processing: str = LOG_AND_FAIL
    production: str = LOG_AND_FAIL
    dead_letter_topic: str | None = None
    processing_log: bool = False
    """Whether that topic gets entries of SQL's processing log in the place of dead letters."""
    log_rows: bool = False
    """Whether such entries have the record."""
    aggregation: str | None = None
    """What becomes of records that an aggregate cannot take, where this is not as with others."""

    def spec(self) -> dict[str, object]:
        """Return it as the kernel reads it."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}


OF_SQL: Final = ErrorHandling(processing=LOG_AND_CONTINUE, aggregation=LOG_AND_FAIL)
"""ksqlDB's: a record that no expression can take is told and passed over, one that overflows a sum ends the query."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """What the engine is told once: where the broker is, where checkpoints go, and the limits."""

    bootstrap_servers: str
    checkpoint_dir: Path
    master: str = MASTER_DEFAULT
    tasks: int = 0
    epoch_ms: int = EPOCH_MS_DEFAULT
    offsets_per_trigger_max: int = OFFSETS_PER_TRIGGER_MAX_DEFAULT
    bytes_per_trigger_max: int = int(DRIVER_MEMORY_BYTES_DEFAULT * _HEAP_OF_A_MICRO_BATCH)
    task_timeout_ms: int = TASK_TIMEOUT_MS_DEFAULT
    cache_bytes_max: int = CACHE_BYTES_MAX_DEFAULT
    state_memory_bytes_max: int = STATE_MEMORY_BYTES_MAX_DEFAULT
    driver_memory_bytes: int = DRIVER_MEMORY_BYTES_DEFAULT
    auto_lag_records_max: int = AUTO_LAG_RECORDS_MAX_DEFAULT
    connector: str = ""
    errors: ErrorHandling = ErrorHandling()
    interval_ms: int = MICRO_BATCH_INTERVAL_MS
    """How long an idle query in micro-batches waits before it looks for records again."""
    lost_records: str = LOG_AND_CONTINUE
    """What becomes of a query whose next records were deleted before it has read them."""
    timestamp_extractor: str = ""
    writes_class_archive: bool = False
    """Whether a session that finds no archive of classes makes it as it ends."""
    log_path: Path | None = None
    """Where the JVM's output goes; None leaves it on the terminal."""
    client_options: Mapping[str, str] = field(default_factory=dict)
    """Kafka client settings for source and sink alike (`security.protocol`, …)."""

    @classmethod
    def from_settings(
        cls,
        given: Mapping[str, str],
        *,
        bootstrap_servers: str,
        checkpoint_dir: Path,
        log_path: Path | None = None,
    ) -> "EngineConfig":
        """Read settings by their outside names.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed.
        """
        values = ENGINE_SETTINGS.parse(given)
        memory_bytes = _whole(values["driver.memory.bytes"])
        batch_bytes = _whole(values["max.bytes.per.trigger"])
        return cls(
            bootstrap_servers=bootstrap_servers,
            checkpoint_dir=checkpoint_dir,
            log_path=log_path,
            master=str(values["master"]),
            tasks=_whole(values["tasks"]),
            epoch_ms=_whole(values["epoch.ms"]),
            offsets_per_trigger_max=_whole(values["max.offsets.per.trigger"]),
            bytes_per_trigger_max=batch_bytes or int(memory_bytes * _HEAP_OF_A_MICRO_BATCH),
            task_timeout_ms=_whole(values["task.timeout.ms"]),
            cache_bytes_max=_whole(values["statestore.cache.max.bytes"]),
            state_memory_bytes_max=_whole(values["state.memory.max.bytes"]),
            driver_memory_bytes=memory_bytes,
            auto_lag_records_max=_whole(values["auto.lag.records.max"]),
            connector=str(values["connector"]),
            errors=ErrorHandling(
                str(values["deserialization.exception.handler"]),
                str(values["processing.exception.handler"]),
                str(values["production.exception.handler"]),
                str(values["errors.dead.letter.queue.topic.name"]) or None,
            ),
            lost_records=str(values["lost.records.handler"]),
            timestamp_extractor=str(values["default.timestamp.extractor"]),
            writes_class_archive=bool(values["class.archive"]),
        )


def _whole(value: Value) -> int:
    assert isinstance(value, int)
    return value

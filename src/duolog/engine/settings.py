"""The settings of the engine, and the frozen configuration that the engine uses.

Names are Kafka's if Kafka Streams has the setting; the fields of `EngineConfig` include units.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from duolog.core.setting_types import Kind, Setting, Settings, Value, at_least, one_of
from duolog.core.units import GIB, MIB, MINUTE_MS
from duolog.engine.lowering.timestamps import EXTRACTORS, PREFIX
from duolog.engine.spark_settings import PREFIX as PREFIX_OF_SPARK
from duolog.engine.spark_settings import check_spark_settings
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity

Mode = Literal["auto", "micro-batch", "real-time"]

MICRO_BATCH_INTERVAL_MS: Final = 100
EPOCH_MS_DEFAULT: Final = MINUTE_MS
"""Length of an epoch in real-time mode: the most work that a crash or a stop repeats."""
EPOCH_MS_EXACTLY_ONCE: Final = 1000
"""The same if results become visible when their epoch is committed."""
AT_LEAST_ONCE: Final = "at_least_once"
EXACTLY_ONCE: Final = "exactly_once_v2"
FIRST_START: Final = "first-start"
"""A value of `EngineConfig.changelog`: on for new applications, others continue as they are."""
OFFSETS_PER_TRIGGER_MAX_DEFAULT: Final = 500_000
TASK_TIMEOUT_MS_DEFAULT: Final = 5 * MINUTE_MS
# A task holds a micro-batch several times: bytes from Kafka, rows, rows in the shuffle.
_HEAP_OF_A_MICRO_BATCH: Final = 1 / 16
CACHE_BYTES_MAX_DEFAULT: Final = 10 * MIB
STATE_MEMORY_BYTES_MAX_DEFAULT: Final = 256 * MIB
DRIVER_MEMORY_BYTES_DEFAULT: Final = 2 * GIB
AUTO_LAG_RECORDS_MAX_DEFAULT: Final = 10_000
AUTO_LAG_MS_DEFAULT: Final = 1000
PYTHON_TIMEOUT_MS_DEFAULT: Final = MINUTE_MS
PYTHON_MEMORY_BYTES_MAX_DEFAULT: Final = 2 * GIB
LOG_AND_CONTINUE: Final = "log_and_continue"
LOG_AND_FAIL: Final = "log_and_fail"
HANDLERS: Final = (LOG_AND_CONTINUE, LOG_AND_FAIL)
# Slots are not cores: a real-time query holds one for each source partition and each task of each
# level, which waits most of the time. Waiting threads cost nothing.
MASTER_DEFAULT: Final = "local[64]"
MASTER_VARIABLE: Final = "DUOLOG_MASTER"
"""The environment variable with the master of programs that do not set one."""

ENGINE_SETTINGS: Final = Settings(
    (
        Setting(
            "master",
            MASTER_DEFAULT,
            Kind.STRING,
            "The Spark master: local[n] with n slots (not cores), or a cluster: "
            "spark://host:7077, yarn, k8s://…. "
            f"If not set, the environment variable {MASTER_VARIABLE} is used.",
        ),
        Setting(
            "tasks",
            0,
            Kind.INT,
            "The number of tasks of an application; 0 uses the largest partition count of "
            "its source topics. Fixed by the first start.",
            at_least(0),
        ),
        Setting(
            "processing.guarantee",
            AT_LEAST_ONCE,
            Kind.STRING,
            "With exactly_once_v2, the results of an epoch or micro-batch are committed in "
            "one transaction with its state, so readers with isolation.level=read_committed "
            "see each result once, whatever fails. Mode auto then stays in micro-batches.",
            one_of(AT_LEAST_ONCE, EXACTLY_ONCE),
        ),
        Setting(
            "epoch.ms",
            0,
            Kind.LONG,
            "The length of an epoch in real-time mode, which bounds the work repeated after "
            "a crash or a stop. 0 uses "
            f"{EPOCH_MS_DEFAULT}, or {EPOCH_MS_EXACTLY_ONCE} with exactly_once_v2.",
            at_least(0),
        ),
        Setting(
            "max.offsets.per.trigger",
            OFFSETS_PER_TRIGGER_MAX_DEFAULT,
            Kind.LONG,
            "The maximum number of records that a micro-batch reads.",
            at_least(1),
        ),
        Setting(
            "max.bytes.per.trigger",
            0,
            Kind.LONG,
            "The maximum size of the keys and values that a micro-batch reads, estimated "
            "from the records seen so far; 0 uses a sixteenth of driver.memory.bytes.",
            at_least(0),
        ),
        Setting(
            "task.timeout.ms",
            TASK_TIMEOUT_MS_DEFAULT,
            Kind.LONG,
            "How long a query whose broker or JVM is unavailable is restarted, with growing "
            "pauses, before it fails; 0 fails at once.",
            at_least(0),
        ),
        Setting(
            "statestore.cache.max.bytes",
            CACHE_BYTES_MAX_DEFAULT,
            Kind.LONG,
            "The size of the write-back cache of aggregates in micro-batches; 0 emits every "
            "update.",
            at_least(0),
        ),
        Setting(
            "state.memory.max.bytes",
            STATE_MEMORY_BYTES_MAX_DEFAULT,
            Kind.LONG,
            "The total memory of all state stores of one process.",
            at_least(16 * MIB),
        ),
        Setting(
            "driver.memory.bytes",
            DRIVER_MEMORY_BYTES_DEFAULT,
            Kind.LONG,
            "The heap size of the JVM. Read once, when the session starts.",
            at_least(512 * MIB),
        ),
        Setting(
            "class.archive",
            True,  # noqa: FBT003 - a default
            Kind.BOOLEAN,
            "Whether to keep an archive of the JVM's classes (190 MB) in the cache "
            "directory, so that later runs start with a third less processor time and 150 "
            "MB less memory. The JVM of a first run writes it after the run has ended, "
            "within a minute and with at most 1 GiB of additional memory, unless the "
            "machine is busy or short of memory.",
        ),
        Setting(
            "auto.lag.records.max",
            AUTO_LAG_RECORDS_MAX_DEFAULT,
            Kind.LONG,
            "The lag in records at which mode auto switches to real time.",
            at_least(1),
        ),
        Setting(
            "auto.lag.ms",
            AUTO_LAG_MS_DEFAULT,
            Kind.LONG,
            "The event time between the oldest unread record and the newest one at which "
            "modes auto and real-time switch to real time. Before that they read in "
            "micro-batches, which merge partitions by timestamp; in real time each "
            "partition is read at its own pace. They also switch if another pass gets no "
            "closer.",
            at_least(0),
        ),
        Setting(
            "deserialization.exception.handler",
            LOG_AND_CONTINUE,
            Kind.STRING,
            "How to handle a record whose bytes cannot be read, or whose timestamp is "
            "negative or after the year 294246: log_and_continue skips it, log_and_fail "
            "ends the query.",
            one_of(*HANDLERS),
        ),
        Setting(
            "processing.exception.handler",
            LOG_AND_FAIL,
            Kind.STRING,
            "How to handle a record that cannot be processed, for example because a sum "
            "overflows or a pattern is invalid.",
            one_of(*HANDLERS),
        ),
        Setting(
            "production.exception.handler",
            LOG_AND_FAIL,
            Kind.STRING,
            "How to handle a result that the broker refuses, for example because it is too "
            "large. Errors that may pass, such as an unavailable broker, are not passed to "
            "this handler.",
            one_of(*HANDLERS),
        ),
        Setting(
            "lost.records.handler",
            LOG_AND_CONTINUE,
            Kind.STRING,
            "How to handle the loss of unread records, for example to retention: "
            "log_and_continue continues with the first record that is left and counts the "
            "others, log_and_fail ends the query. In real-time mode the query always ends.",
            one_of(*HANDLERS),
        ),
        Setting(
            "errors.dead.letter.queue.topic.name",
            "",
            Kind.STRING,
            "The topic for skipped records, in their original form, with the error in "
            "their headers. If empty, they are only logged and counted.",
        ),
        Setting(
            "python.function.timeout.ms",
            PYTHON_TIMEOUT_MS_DEFAULT,
            Kind.LONG,
            "How long a Python function may take for one record, or a vectorized one for a "
            "batch. After that its process is killed, and the record counts as one that "
            "cannot be processed.",
            at_least(1),
        ),
        Setting(
            "python.worker.memory.bytes.max",
            PYTHON_MEMORY_BYTES_MAX_DEFAULT,
            Kind.LONG,
            "The memory limit of each process that calls Python functions, of which there "
            "is one for each task that is calling one. Beyond it a function gets a "
            "MemoryError, and the record counts as one that cannot be processed. 0: no "
            "limit.",
            at_least(0),
        ),
        Setting(
            "default.timestamp.extractor",
            "",
            Kind.STRING,
            "How to handle a record with an invalid timestamp, unless its source specifies "
            "it: FailOnInvalidTimestamp, LogAndSkipOnInvalidTimestamp, "
            "UsePartitionTimeOnInvalidTimestamp; WallclockTimestampExtractor uses the clock "
            "for all records. If empty, the record counts as one that cannot be read.",
            one_of("", *EXTRACTORS, *(PREFIX + name for name in EXTRACTORS)),
        ),
        Setting(
            "state.changelog",
            "auto",
            Kind.STRING,
            "Whether each store has a changelog topic, from which its state is restored if "
            "the checkpoint is lost: on, off, or auto, which is on if master is a cluster. "
            "Fixed by the first start.",
            one_of("auto", "on", "off"),
        ),
        Setting(
            "checkpoint.stores",
            "",
            Kind.STRING,
            "Comma-separated URL schemes of Hadoop file systems that may have a checkpoint, "
            "in addition to hdfs and viewfs. Renaming and creating a file must both be "
            "atomic there, and never overwrite; otherwise results may be lost, or written "
            "again.",
        ),
        Setting(
            "logging.format",
            "text",
            Kind.STRING,
            "The format of the engine's log: text, or json with one object per line.",
            one_of("text", "json"),
        ),
        Setting(
            "connector",
            "",
            Kind.STRING,
            "A different Kafka connector: a directory of jars, or "
            "group:artifact:version@sha256 items.",
        ),
        Setting(
            "schema.registry.url",
            "",
            Kind.STRING,
            "The address of the schema registry of topics in AVRO, JSON_SR and PROTOBUF: "
            "http://host:8081. Several addresses are separated by commas.",
        ),
    ),
    subject="engine setting",
)


@dataclass(frozen=True, slots=True)
class ErrorHandling:
    """The handling of records that cannot be read, processed or written, and of their bytes."""

    deserialization: str = LOG_AND_CONTINUE
    processing: str = LOG_AND_FAIL
    production: str = LOG_AND_FAIL
    dead_letter_topic: str | None = None
    processing_log: bool = False
    """Whether that topic gets entries of SQL's processing log instead of dead letters."""
    log_rows: bool = False
    """Whether these entries contain the record."""
    aggregation: str | None = None
    """The handling of records that an aggregate cannot take, if it differs."""

    def spec(self) -> dict[str, object]:
        """Return it in the form that the kernel reads."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}


OF_SQL: Final = ErrorHandling(processing=LOG_AND_CONTINUE, aggregation=LOG_AND_FAIL)
"""ksqlDB's: log and skip a record that an expression cannot process; fail if a sum overflows."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The configuration of an engine: the broker, the checkpoint directory, and the limits."""

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
    auto_lag_ms: int = AUTO_LAG_MS_DEFAULT
    connector: str = ""
    schema_registry_url: str = ""
    errors: ErrorHandling = ErrorHandling()
    interval_ms: int = MICRO_BATCH_INTERVAL_MS
    """How long an idle query in micro-batches waits before it polls for records again."""
    exactly_once: bool = False
    """Whether results are committed in transactions, together with their epoch."""
    internal_prefix: str = ""
    """A prefix of the application id in names that a whole Kafka cluster shares.

    These are transactions, markers and changelogs.
    """
    lost_records: str = LOG_AND_CONTINUE
    """The handling of a query whose next records were deleted before it read them."""
    timestamp_extractor: str = ""
    python_timeout_ms: int = PYTHON_TIMEOUT_MS_DEFAULT
    python_memory_bytes_max: int = PYTHON_MEMORY_BYTES_MAX_DEFAULT
    changelog: str = "auto"
    """Whether stores have changelogs: on, off, auto, or `FIRST_START`."""
    writes_class_archive: bool = False
    """Whether a session that finds no class archive writes one at exit."""
    log_format: str = "text"
    """The format of the JVM's log: text or json."""
    log_path: Path | None = None
    """The file for the JVM's output; None for the terminal."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """Spark's settings given by the user, by their names: `spark.executor.memory`, …"""
    client_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of all Kafka clients that librdkafka and Java have in common, without security."""
    security: ClientSecurity | None = None
    """How clients authenticate and encrypt."""

    @classmethod
    def of_brokers(cls, brokers: Brokers, checkpoint_dir: Path) -> "EngineConfig":
        """Return a configuration that only connects to a cluster."""
        return cls(
            brokers.servers,
            checkpoint_dir,
            client_options=dict(brokers.properties),
            security=brokers.security,
        )

    @property
    def brokers(self) -> Brokers:
        """The brokers, with the settings of all clients."""
        return Brokers(self.bootstrap_servers, self.security, tuple(self.client_options.items()))

    @property
    def python_clients(self) -> dict[str, Any]:
        """The settings of all clients in Python, without the address. It has secrets."""
        security = {} if self.security is None else self.security.librdkafka()
        return dict(self.client_options) | security

    def for_start(self, errors: "ErrorHandling | None", *, exactly_once: bool) -> "EngineConfig":
        """Return the configuration of one start, with the overrides that it specifies."""
        late = exactly_once and self.epoch_ms == EPOCH_MS_DEFAULT
        return replace(
            self,
            errors=errors or self.errors,
            exactly_once=exactly_once or self.exactly_once,
            epoch_ms=EPOCH_MS_EXACTLY_ONCE if late else self.epoch_ms,
        )

    @classmethod
    def from_settings(
        cls,
        given: Mapping[str, str],
        *,
        bootstrap_servers: Brokers | str,
        checkpoint_dir: Path,
        log_path: Path | None = None,
    ) -> "EngineConfig":
        """Parse settings by their public names; those that begin with `spark.` are Spark's.

        If no master is given, the environment's is used.

        Raises:
            ConfigError: a name is unknown, or a value is not allowed.
        """
        spark = {name: value for name, value in given.items() if name.startswith(PREFIX_OF_SPARK)}
        own = {name: value for name, value in given.items() if name not in spark}
        values = ENGINE_SETTINGS.parse(_of_environment() | own)
        brokers = bootstrap_servers if isinstance(bootstrap_servers, Brokers) else Brokers("")
        exactly_once = values["processing.guarantee"] == EXACTLY_ONCE
        memory_bytes = _whole(values["driver.memory.bytes"])
        batch_bytes = _whole(values["max.bytes.per.trigger"])
        return cls(
            bootstrap_servers=str(bootstrap_servers),
            client_options=dict(brokers.properties),
            security=brokers.security,
            checkpoint_dir=checkpoint_dir,
            log_path=log_path,
            master=str(values["master"]),
            tasks=_whole(values["tasks"]),
            epoch_ms=_whole(values["epoch.ms"])
            or (EPOCH_MS_EXACTLY_ONCE if exactly_once else EPOCH_MS_DEFAULT),
            exactly_once=exactly_once,
            offsets_per_trigger_max=_whole(values["max.offsets.per.trigger"]),
            bytes_per_trigger_max=batch_bytes or int(memory_bytes * _HEAP_OF_A_MICRO_BATCH),
            task_timeout_ms=_whole(values["task.timeout.ms"]),
            cache_bytes_max=_whole(values["statestore.cache.max.bytes"]),
            state_memory_bytes_max=_whole(values["state.memory.max.bytes"]),
            driver_memory_bytes=memory_bytes,
            auto_lag_records_max=_whole(values["auto.lag.records.max"]),
            auto_lag_ms=_whole(values["auto.lag.ms"]),
            connector=str(values["connector"]),
            schema_registry_url=str(values["schema.registry.url"]),
            log_format=str(values["logging.format"]),
            errors=ErrorHandling(
                str(values["deserialization.exception.handler"]),
                str(values["processing.exception.handler"]),
                str(values["production.exception.handler"]),
                str(values["errors.dead.letter.queue.topic.name"]) or None,
            ),
            lost_records=str(values["lost.records.handler"]),
            timestamp_extractor=str(values["default.timestamp.extractor"]),
            python_timeout_ms=_whole(values["python.function.timeout.ms"]),
            python_memory_bytes_max=_whole(values["python.worker.memory.bytes.max"]),
            changelog=str(values["state.changelog"]),
            writes_class_archive=bool(values["class.archive"]),
            spark=check_spark_settings(spark),
        )


def _of_environment() -> dict[str, str]:
    """Return the settings from the environment, by which a program moves to a cluster unchanged."""
    master = os.environ.get(MASTER_VARIABLE)
    return {"master": master} if master else {}


def _whole(value: Value) -> int:
    assert isinstance(value, int)
    return value

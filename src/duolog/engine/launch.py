"""From a spec to a started Spark query: sources, kernel, trigger, client settings.

The only module that calls the kernel's Java classes to run a query. Each call of `Launcher.start`
is one Spark query; a `RunningQuery` starts several of them, one after the other, when it changes its
mode on one checkpoint.
"""

import contextlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from duolog.core.units import KIB, MIB
from duolog.engine.checkpoint import Checkpoint, Json
from duolog.engine.failures import to_query_failed
from duolog.engine.owner import release
from duolog.engine.progress import Counters
from duolog.engine.session import Session
from duolog.engine.settings import EngineConfig
from duolog.engine.starts import as_spark_reads

Trigger = Literal["micro-batch", "available-now", "real-time"]

_ORDERED: Final = "org.duolog.kernel.OrderedKafka"
_REAL_TIME: Final = "org.duolog.kernel.RealTimeKafka"
# Half of the throughput of a micro-batch comes from these.
_CONSUMER: Final = {
    "max.poll.records": "20000",
    "max.partition.fetch.bytes": str(4 * MIB),
    "fetch.max.bytes": str(64 * MIB),
    "isolation.level": "read_committed",
    # A stop waits for what is asked of a broker that is away: a minute by Kafka's defaults.
    "default.api.timeout.ms": "15000",
    "request.timeout.ms": "10000",
    # A deleted topic would come back by itself, with one partition.
    "allow.auto.create.topics": "false",
}
_RECORD_BATCH_BYTES_MAX: Final = 256 * KIB
_PRODUCER: Final = {
    "acks": "all",
    "enable.idempotence": "true",
    "batch.size": str(_RECORD_BATCH_BYTES_MAX),
    "buffer.memory": str(64 * MIB),
    "compression.type": "lz4",
}
_LINGER_MS: Final[Mapping[Trigger, str]] = {
    "micro-batch": "100",
    "available-now": "100",
    "real-time": "0",
}


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts Spark queries of one application. Threads: one at a time."""

    session: Session
    config: EngineConfig
    checkpoint: Checkpoint
    spec: Json
    places: Mapping[str, str] = field(default_factory=dict)
    """Where a user wrote the nodes of the plan, by their names."""
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    """Of the source topics, as they were when the application was started."""

    @property
    def application_id(self) -> str:
        name: str = self.spec["application_id"]
        return name

    @property
    def written_topics(self) -> list[str]:
        """The topics that the query writes to, but for those that records choose themselves."""
        dead_letters = self.config.errors.dead_letter_topic
        sinks = [sink["topic"] for sink in self.spec["sinks"] if not sink.get("call")]
        return sinks if dead_letters is None else [*sinks, dead_letters]

    @property
    def global_topics(self) -> set[str]:
        """The topics of global tables, whose records go to every task."""
        routes = {
            number for number, node in self.spec["nodes"].items() if node.get("everywhere", False)
        }
        return {
            source["topic"]
            for source in self.spec["sources"]
            if routes & set(map(str, source["children"]))
        }

    def start(
        self,
        trigger: Trigger,
        records_max: Mapping[str, int],
        record_batch_bytes_max: int | None = None,
    ) -> StreamingQuery:
        """Start a Spark query on the application's checkpoint.

        `records_max` tells how many records of each topic one micro-batch reads at most; a topic
        that it leaves out is bounded by the setting `max.offsets.per.trigger` alone.
        `record_batch_bytes_max` is what all topics take that are written to.

        Raises:
            QueryFailed: Spark or the kernel refuses the query, or the JVM has gone.
        """
        real_time = trigger == "real-time"
        # Records of micro-batches go to their tasks without a shuffle, until one is in another's partition.
        direct = not real_time and not self.checkpoint.shuffles
        spec = json.dumps(self.spec | {"real_time": real_time, "direct": direct})
        try:
            self.session.kernel("Calls").reset(self.application_id)
            sources = self._java().java.util.ArrayList()
            horizon = uuid.uuid4().hex
            for number, topics in enumerate(self._inputs()):
                options = self._source(topics)
                if real_time:
                    sources.add(self._read(options))
                else:
                    options |= self._bounded(topics, records_max)
                    options |= self._horizon(horizon, number, topics)
                    sources.add(self._read_in_micro_batches(options))
            if "ticks" in self.spec:
                sources.add(self._ticks())
            if real_time and self.config.master.startswith("local"):
                self._open_gate()
            of_kernel = None if real_time else horizon
            envelopes = self.session.kernel("Kernel").apply(sources, spec, of_kernel)
            options = self._options(trigger, record_batch_bytes_max)
            started = self.session.kernel("Launcher").start(envelopes, spec, options)
        except (Py4JError, ConnectionError, PySparkException) as error:
            raise to_query_failed(error, self.application_id, self.log_path, self.places) from error
        return StreamingQuery(started)

    @property
    def log_path(self) -> Path | None:
        """Where the JVM says more; None: on the terminal."""
        return self.session.log_path

    @property
    def jvm_has_ended(self) -> bool:
        return self.session.has_ended

    def counters(self) -> Counters:
        """Return what the kernel has counted in this JVM since `reset_counters`."""
        return Counters.parse(self.session.kernel("Metrics").snapshot(self.application_id))

    def reset_counters(self) -> None:
        self.session.kernel("Metrics").reset(self.application_id)
        self.session.kernel("Prints").reset(self.application_id)
        # Not with each Spark query: the functions stay those of this process.
        self.session.kernel("KeyFunctions").reset(self.application_id)

    @property
    def prints(self) -> bool:
        """Whether the topology prints records."""
        return any(node["kind"] == "print" for node in self.spec["nodes"].values())

    def take_printed(self) -> str:
        """Return what was printed in this JVM since the last call, as `printing` reads it."""
        taken: str = self.session.kernel("Prints").take(self.application_id)
        return taken

    def take_calls(self, records_max: int, wait_ms: int) -> str:
        """Return records that wait to be called in this JVM, as `calling` reads them; waits for one."""
        calls = self.session.kernel("Calls")
        taken: str = calls.take(self.application_id, records_max, wait_ms)
        return taken

    def calls_done(self, number: int) -> None:
        """Tell that functions were called with the records up to this one."""
        self.session.kernel("Calls").done(self.application_id, number)

    def call_failed(self, number: int, error: str) -> None:
        """Tell that the function of this record failed, and that it is passed over."""
        self.session.kernel("Calls").failed(self.application_id, number, error)

    def take_keys(self, keys_max: int, wait_ms: int) -> str:
        """Return keys that wait for an answer in this JVM, as `key_functions` reads them; waits for one."""
        asked = self.session.kernel("KeyFunctions")
        taken: str = asked.take(self.application_id, keys_max, wait_ms)
        return taken

    def tell_of_keys(self, answers: str) -> None:
        """Give the answers of functions for keys."""
        self.session.kernel("KeyFunctions").tell(self.application_id, answers)

    def release(self) -> None:
        """Let another process run the application."""
        # Of a JVM that has gone the system has freed the lock.
        with contextlib.suppress(OSError, Py4JError):
            self.session.kernel("TableGate").close(self.application_id)
            release(self.checkpoint.directory, self.session.holder, self.session.java_pid)

    def _inputs(self) -> list[list[str]]:
        """Return the topics of each of Spark's Kafka sources: one, or those that match a pattern."""
        found: dict[str, list[str]] = {}
        for source in self.spec["sources"]:
            topics = found.setdefault(source.get("input", source["topic"]), [])
            if source["topic"] not in topics:
                topics.append(source["topic"])
        return list(found.values())

    def _source(self, topics: list[str]) -> dict[str, str]:
        counts = {topic: self.partition_counts.get(topic, 0) for topic in topics}
        starts = as_spark_reads(self.checkpoint.starts(), counts)
        # One Kafka source for each topic, or pattern: maxOffsetsPerTrigger is shared out within a source, and
        # a small table must not wait for its share beside a large stream.
        return self._kafka(_CONSUMER) | {
            "subscribe": ",".join(topics),
            "startingOffsets": starts,
            "failOnDataLoss": "true",
            "groupIdPrefix": f"duolog-{self.application_id}",
            "includeHeaders": "true",
        }

    def _bounded(self, topics: list[str], records_max: Mapping[str, int]) -> dict[str, str]:
        largest = self.config.offsets_per_trigger_max
        bound = sum(records_max.get(topic, largest) for topic in topics)
        return {"maxOffsetsPerTrigger": str(bound)}

    def _read_in_micro_batches(self, options: dict[str, str]) -> Any:
        return self._load(_ORDERED, options)._jdf  # noqa: SLF001 - as _java below

    def _read(self, options: dict[str, str]) -> Any:
        records = self._load(_REAL_TIME, options)
        columns = ("key", "value", "topic", "partition", "offset", "headers")
        wanted = records.selectExpr(*columns, "unix_millis(timestamp) AS timestamp_ms")
        return wanted._jdf  # noqa: SLF001 - as _java below

    def _ticks(self) -> Any:
        """Return the source that tells tasks what time it is, when they ask for it."""
        ticks = self.session.spark.readStream.format("org.duolog.kernel.TickSource")
        return ticks.option("application.id", self.application_id).load()._jdf  # noqa: SLF001 - as _java below

    def _load(self, kind: str, options: dict[str, str]) -> DataFrame:
        # Its settings are copied when the query starts, and pinned in Spark's checkpoint.
        spark = self.session.spark_with(self.spec["shuffle_partitions"])
        return spark.readStream.format(kind).options(**options).load()

    def _open_gate(self) -> None:
        """Let records of streams wait for rows of tables, which only tasks of one JVM can do."""
        topics = dict.fromkeys(source["topic"] for source in self.spec["sources"])
        tables = [topic for topic in topics if self._is_table(topic)]
        java, gate = self._java().java.util, self.session.kernel("TableGate")
        if tables and len(tables) < len(topics):
            given = [java.ArrayList(), java.ArrayList(), java.HashMap()]
            for topic in topics:
                given[topic not in tables].add(topic)
            client = _CONSUMER | dict(self.config.client_options)
            for name, value in client.items():
                given[2].put(name, value)
            given[2].put("bootstrap.servers", self.config.bootstrap_servers)
            starts = json.dumps(self.checkpoint.planned_positions())
            gate.open(self.application_id, given[0], given[1], starts, given[2])

    def _is_table(self, topic: str) -> bool:
        """Tell whether all that read the topic take it for a table."""
        readers = [source for source in self.spec["sources"] if source["topic"] == topic]
        return all(source["table"] for source in readers)

    def _horizon(self, name: str, number: int, topics: list[str]) -> dict[str, str]:
        """Return what lets the topics of this query end their micro-batches at one time."""
        options = {"horizon": name, "horizon.input": str(number)}
        options |= {
            "horizon.table": str(self._is_table(topics[0])).lower(),
            "horizon.application": self.application_id,
            "horizon.lost": self.config.lost_records,
        }
        options["horizon.global"] = str(topics[0] in self.global_topics).lower()
        planned = self.checkpoint.planned_positions()
        if start := {topic: planned[topic] for topic in topics if topic in planned}:
            options["horizon.start"] = json.dumps(start)
        return options

    def _options(self, trigger: Trigger, record_batch_bytes_max: int | None) -> Any:
        options = self._java().java.util.HashMap()
        producer = _PRODUCER | {"linger.ms": _LINGER_MS[trigger]}
        if record_batch_bytes_max is not None:
            # A larger batch that is refused is split into pieces of this size, again and again.
            batch_bytes = min(_RECORD_BATCH_BYTES_MAX, record_batch_bytes_max)
            producer["batch.size"] = str(batch_bytes)
        given = self._kafka(producer) | {
            "checkpointLocation": str(self.checkpoint.spark_dir),
            "queryName": self.application_id,
            "trigger": trigger,
            "interval": f"{self.config.interval_ms} milliseconds",
            "epoch": f"{self.config.epoch_ms} milliseconds",
        }
        for name, value in given.items():
            options.put(name, value)
        return options

    def _kafka(self, defaults: Mapping[str, str]) -> dict[str, str]:
        client = (
            dict(defaults)
            | dict(self.config.client_options)
            | {"bootstrap.servers": self.config.bootstrap_servers}
        )
        return {f"kafka.{name}": value for name, value in client.items()}

    def _java(self) -> Any:
        return self.session.spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to Java

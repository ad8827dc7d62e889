"""Launch a spec as a Spark query: sources, kernel, trigger, client settings.

The only module that calls the kernel's Java classes to run a query. Each call of `Launcher.start`
is one Spark query; a `RunningQuery` starts several in turn when it changes its mode on one
checkpoint.
"""

import contextlib
import json
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from duolog.engine.changelog.changelogs import ENTRY_BYTES_MAX, commit_topic
from duolog.engine.changelog.logged_state import begin_generation
from duolog.engine.changelog.marker_topic import ensure_is_marker
from duolog.engine.checkpoint.checkpoint import Checkpoint, Json
from duolog.engine.checkpoint.generations import Generations
from duolog.engine.checkpoint.owner import release, taken_over_by
from duolog.engine.exactly_once.epochs import ensure_goes_on, marker_topic
from duolog.engine.exactly_once.transaction_timeout import transaction_timeout_ms
from duolog.engine.exactly_once.transactions import Transactions
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.kernel_classes import kernel_class_name
from duolog.engine.query.client_defaults import CONSUMER, PRODUCER, RECORD_BATCH_BYTES_MAX
from duolog.engine.query.metrics_merge import merge_snapshots
from duolog.engine.query.progress import Counters
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.failures import to_query_failed
from duolog.engine.spark.session import Session
from duolog.engine.topics.starting_offsets import spark_starting_offsets
from duolog.engine.topics.topic_reader import EndOffsets, TopicReader

Trigger = Literal["micro-batch", "available-now", "real-time"]

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
    places: Mapping[str, str] = field(default_factory=dict)  # Source lines of the plan's nodes.
    partition_counts: Mapping[str, int] = field(default_factory=dict)  # As of the first start.
    until: Callable[[], EndOffsets] | None = None
    """Returns at each start where micro-batches end for good, for each partition that is read."""

    @property
    def application_id(self) -> str:
        return str(self.spec["application_id"])

    @property
    def written_topics(self) -> list[str]:
        """The topics that the query writes to, except those that records choose themselves."""
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

    @property
    def _name_in_kafka(self) -> str:
        """The name of its transactions and its marker, unique in a Kafka cluster."""
        return self.config.internal_prefix + self.application_id

    def open_transactions(self, trigger: Trigger, record_batch_bytes_max: int | None) -> None:
        """Check that the checkpoint matches the end of the committed results, and write after them.

        Fences earlier writers with this name. Does nothing if results are written at least once.

        Raises:
            CheckpointMismatch: results were committed that the checkpoint does not know of.
            ChangelogMismatch: the marker topic belongs to something else.
            QueryFailed: no broker answers, or it refuses transactions.
        """
        if not self.config.exactly_once:
            return
        self._ensure_marks()
        producer = self._producer(trigger, record_batch_bytes_max)
        settings = {name.removeprefix("kafka."): value for name, value in producer.items()}
        clustered = not is_one_jvm(self.config.master)
        with self._failing():
            self._transactions(settings).open(socket.gethostname(), clustered=clustered)

    def _ensure_marks(self) -> None:
        topics = TopicReader(self.config.bootstrap_servers, self.config.client_options)
        ensure_is_marker(self.config, topics, self._name_in_kafka, self.application_id)

    def close_transactions(self) -> None:
        """Abort what is not committed, so that readers need not wait for it."""
        if self.config.exactly_once:
            with contextlib.suppress(Py4JError, ConnectionError):
                self.session.kernel("Transactions").close(str(self.checkpoint.spark_dir))

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Convert exceptions of Spark, the kernel and py4j to QueryFailed."""
        try:
            yield
        except (Py4JError, ConnectionError, PySparkException) as error:
            raise to_query_failed(error, self.application_id, self.log_path, self.places) from error

    def _transactions(self, settings: Mapping[str, str]) -> Transactions:
        """Return the transactions, with these settings for Kafka's clients."""
        kernel = self.session.kernel("Transactions")
        given = self._java_map(settings), self.checkpoint, self._name_in_kafka
        return Transactions(kernel, *given)

    def _java_map(self, of: Mapping[str, str]) -> Any:
        found = self._java().java.util.HashMap()
        for name, value in of.items():
            found.put(name, value)
        return found

    def start(
        self,
        trigger: Trigger,
        records_max: Mapping[str, int],
        record_batch_bytes_max: int | None = None,
    ) -> StreamingQuery:
        """Start a Spark query on the application's checkpoint.

        `records_max` is the maximum number of records of each topic in a micro-batch; a topic
        that it leaves out is bounded by the setting `max.offsets.per.trigger` only.
        `record_batch_bytes_max` is the batch size that every topic of results accepts.

        Raises:
            QueryFailed: Spark or the kernel refuses the query, or the JVM has ended.
        """
        real_time = trigger == "real-time"
        spec = self.spec | self._begin_generation()
        # Records of micro-batches reach their tasks without a shuffle, until one is in another
        # task's partition.
        direct = not real_time and not self.checkpoint.shuffles
        modes = {
            "real_time": real_time,
            "direct": direct,
            "exactly_once": self.config.exactly_once,
            "launch": uuid.uuid4().hex,
        }
        spec_text = json.dumps(spec | modes)
        with self._failing():
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
            if real_time and is_one_jvm(self.config.master):
                self._open_gate()
            of_kernel = None if real_time else horizon
            self.checkpoint.settle_upgrade()
            self.checkpoint.note_commits()
            kept = json.dumps({"stores": self.checkpoint.initial_stores()})
            self._log_initial(spec_text, kept)
            envelopes = self.session.kernel("Kernel").apply(sources, spec_text, of_kernel, kept)
            options = self._options(trigger, record_batch_bytes_max)
            started = self.session.kernel("Launcher").start(envelopes, spec_text, options)
        return StreamingQuery(started)

    def start_restore(self, generation: int, committed: Generations) -> StreamingQuery:
        """Start a Spark query that fills the stores from their changelogs, and then ends.

        `committed` determines which entries count; `generation` is that of the new entries.

        Raises:
            QueryFailed: as `start`.
        """
        # A run of its own, so that the counts of executors are not added to the application's.
        spec = json.dumps(self.spec | {"generation": generation, "run": uuid.uuid4().hex})
        with self._failing():
            spark = self.session.spark_with(self.spec["shuffle_partitions"])
            started = self.session.kernel("Restore").start(
                spark._jsparkSession,  # noqa: SLF001 - as _java below
                spec,
                json.dumps({"generations": committed}),
                self._java_map(CONSUMER | self._client()),
                self._options("available-now", None),
            )
        return StreamingQuery(started)

    def _log_initial(self, spec: str, kept: str) -> None:
        """Write the initial contents of stores to their changelogs, before the first epoch."""
        stores = self.checkpoint.initial_logs()
        if stores:
            producer = PRODUCER | {"max.request.size": str(ENTRY_BYTES_MAX)} | self._client()
            settings = self._java_map(producer)
            named = self._java().java.util.HashSet()
            for store in stores:
                named.add(store)
            spark = self.session.spark_with(self.spec["shuffle_partitions"])
            log = self.session.kernel("InitialChangelog")
            log.write(spark._jsparkSession, spec, kept, named, settings)  # noqa: SLF001 - as _java below

    def cancel_start(self) -> None:
        """Abort a start that is still writing changelogs. Any thread."""
        log = self.session.kernel("InitialChangelog")
        log.cancel(self.session.spark._jsparkSession, self.application_id)  # noqa: SLF001 - as _java below

    def take_over(self, query: str, epoch: int) -> None:
        """Let the checkpoint continue after an epoch that a query committed exactly once.

        Raises:
            CheckpointMismatch: other results were committed after them.
            QueryFailed: no broker answers.
        """
        with self._failing():
            marker = self._transactions(self._client()).marker()
        if marker.query == query and marker.epoch <= epoch:
            self.checkpoint.take_over(marker.query, marker.epoch)
        else:
            ensure_goes_on(self.checkpoint, marker, marker_topic(self._name_in_kafka))

    def take_over_what_was_begun(self) -> None:
        """Do as `Transactions` does, if results are written exactly once.

        Raises:
            QueryFailed: no broker answers.
        """
        if self.config.exactly_once:
            with self._failing():
                self._transactions(self._client()).take_over_what_was_begun()

    def commit_decided(self) -> None:
        """Commit what executors wrote in an epoch that counts, if a crash prevented that.

        Raises:
            CheckpointMismatch: the broker has aborted it.
            ChangelogMismatch: the marker topic belongs to something else.
            QueryFailed: no broker answers.
        """
        self._ensure_marks()
        with self._failing():
            self._transactions(self._client()).ensure_committed()

    def _begin_generation(self) -> Json:
        """Return the changelog fields of the kernel's spec; empty without changelogs."""
        if not self.checkpoint.has_changelogs:
            return {}
        begun = begin_generation(self.config, self.checkpoint)
        settings = self._java_map(PRODUCER | {"linger.ms": "0"} | self._client())
        head = json.dumps(begun.head() | {"state": self.checkpoint.spark_dir.name})
        log = self.session.kernel("CommitTopic")
        try:
            log.open(
                str(self.checkpoint.spark_dir), commit_topic(self._name_in_kafka), head, settings
            )
        except (Py4JError, ConnectionError) as error:
            raise to_query_failed(error, self.application_id, self.log_path, self.places) from error
        return {"generation": begun.generation}

    @property
    def log_path(self) -> Path | None:
        """The log file of the JVM; None if it logs to the terminal."""
        return self.session.log_path

    @property
    def taken_over_by(self) -> str:
        """The owner that claimed the checkpoint after this process; empty if none did."""
        other = taken_over_by(self.checkpoint.directory, self.session.java_pid)
        return "" if other is None else str(other)

    @property
    def jvm_has_ended(self) -> bool:
        return self.session.has_ended

    @property
    def how_jvm_ended(self) -> str:
        return self.session.how_it_ended

    def counters(self) -> Counters:
        """Return the kernel's counts since `reset_counters`, of this JVM and those of executors."""
        return Counters.of(self.counted())

    def counted(self) -> Json:
        """Return all counts in the form that `metrics` reads."""
        return merge_snapshots(
            json.loads(self.session.kernel("Metrics").snapshot(self.application_id))
        )

    def reset_counters(self) -> None:
        self.session.kernel("Metrics").reset(self.application_id)
        self.session.kernel("Prints").reset(self.application_id)
        # Not for each Spark query: the functions remain those of this process.
        self.session.kernel("KeyFunctions").reset(self.application_id)

    @property
    def prints(self) -> bool:
        """True if the topology prints records."""
        return any(node["kind"] == "print" for node in self.spec["nodes"].values())

    def take_printed(self) -> str:
        """Return the records printed in this JVM since the last call, as `printing` reads them."""
        taken: str = self.session.kernel("Prints").take(self.application_id)
        return taken

    @property
    def calls_python(self) -> bool:
        """True if Python functions, which may print, run in processes next to the kernel."""
        return bool(self.spec.get("functions"))

    def take_output(self) -> str:
        """Return what Python functions printed since the last call, as `printing` reads it."""
        taken: str = self.session.kernel("PythonOutput").take()
        return taken

    def take_calls(self, records_max: int, wait_ms: int) -> str:
        """Wait for records for callbacks in this JVM; return what `for_each_callbacks` reads."""
        calls = self.session.kernel("Calls")
        taken: str = calls.take(self.application_id, records_max, wait_ms)
        return taken

    def calls_done(self, number: int) -> None:
        """Confirm the callbacks of the records up to this one."""
        self.session.kernel("Calls").done(self.application_id, number)

    def call_failed(self, number: int, error: str) -> None:
        """Report that the function failed for this record, which is skipped."""
        self.session.kernel("Calls").failed(self.application_id, number, error)

    def take_keys(self, keys_max: int, wait_ms: int) -> str:
        """Wait for keys that need a result in this JVM; return what `key_functions` reads."""
        asked = self.session.kernel("KeyFunctions")
        taken: str = asked.take(self.application_id, keys_max, wait_ms)
        return taken

    def answer_keys(self, answers: str) -> None:
        """Pass the results of functions of keys to the kernel."""
        self.session.kernel("KeyFunctions").tell(self.application_id, answers)

    def release(self) -> None:
        """Release the checkpoint, so that another process can run the application."""
        self.close()
        # If the JVM has ended, the system has released the lock.
        with contextlib.suppress(OSError, Py4JError):
            release(self.checkpoint.directory, self.session.holder, self.session.java_pid)

    def close(self) -> None:
        """End everything but Spark's query and the claim, whatever fails."""
        self.close_transactions()
        spark_dir = str(self.checkpoint.spark_dir)
        for kind, name in (
            ("TableGate", self.application_id),
            ("CommitTopic", spark_dir),
        ):
            with contextlib.suppress(OSError, Py4JError):
                self.session.kernel(kind).close(name)
        with contextlib.suppress(OSError, Py4JError):
            self.session.kernel("ProcessorWorkers").end(self.application_id)
        with contextlib.suppress(OSError, Py4JError):
            self.session.kernel("Launcher").closeUnusedProducers()

    def _inputs(self) -> list[list[str]]:
        """Return the topics of each of Spark's Kafka sources: one, or those of a pattern."""
        found: dict[str, list[str]] = {}
        for source in self.spec["sources"]:
            topics = found.setdefault(source.get("input", source["topic"]), [])
            if source["topic"] not in topics:
                topics.append(source["topic"])
        return list(found.values())

    def _source(self, topics: list[str]) -> dict[str, str]:
        counts = {topic: self.partition_counts.get(topic, 0) for topic in topics}
        starts = spark_starting_offsets(self.checkpoint.starts(), counts)
        # One Kafka source for each topic or pattern: maxOffsetsPerTrigger is divided within a
        # source, and a small table must not be slowed down by a large stream.
        return self._kafka(CONSUMER) | {
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
        return self._load("OrderedKafka", options)._jdf  # noqa: SLF001 - as _java below

    def _read(self, options: dict[str, str]) -> Any:
        records = self._load("RealTimeKafka", options)
        columns = ("key", "value", "topic", "partition", "offset", "headers")
        wanted = records.selectExpr(*columns, "unix_millis(timestamp) AS timestamp_ms")
        return wanted._jdf  # noqa: SLF001 - as _java below

    def _ticks(self) -> Any:
        """Return the source that sends the time to tasks that request it."""
        ticks = self.session.spark.readStream.format(kernel_class_name("TickSource"))
        return ticks.option("application.id", self.application_id).load()._jdf  # noqa: SLF001 - as _java below

    def _load(self, source: str, options: dict[str, str]) -> DataFrame:
        # The settings of the session are copied when the query starts, and pinned in Spark's
        # checkpoint.
        spark = self.session.spark_with(self.spec["shuffle_partitions"])
        return spark.readStream.format(kernel_class_name(source)).options(**options).load()

    def _open_gate(self) -> None:
        """Let records of streams wait for rows of tables, which is possible only within one JVM."""
        topics = dict.fromkeys(source["topic"] for source in self.spec["sources"])
        tables = [topic for topic in topics if self._is_table(topic)]
        java, gate = self._java().java.util, self.session.kernel("TableGate")
        if tables and len(tables) < len(topics):
            given = [java.ArrayList(), java.ArrayList(), java.HashMap()]
            for topic in topics:
                given[topic not in tables].add(topic)
            client = CONSUMER | dict(self.config.client_options)
            for name, value in client.items():
                given[2].put(name, value)
            given[2].put("bootstrap.servers", self.config.bootstrap_servers)
            starts = json.dumps(self.checkpoint.planned_positions())
            gate.open(self.application_id, given[0], given[1], starts, given[2])

    def _is_table(self, topic: str) -> bool:
        """Return whether all readers of the topic read it as a table."""
        readers = [source for source in self.spec["sources"] if source["topic"] == topic]
        return all(source["table"] for source in readers)

    def _horizon(self, name: str, number: int, topics: list[str]) -> dict[str, str]:
        """Return the options by which the topics of this query end micro-batches at one time."""
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
        if self.until is not None:
            ends = self.until()
            options["horizon.until"] = json.dumps({topic: ends.get(topic, {}) for topic in topics})
        return options

    def _options(self, trigger: Trigger, record_batch_bytes_max: int | None) -> Any:
        return self._java_map(
            self._producer(trigger, record_batch_bytes_max)
            | {
                "checkpointLocation": str(self.checkpoint.spark_dir),
                "queryName": self.application_id,
                "trigger": trigger,
                "interval": f"{self.config.interval_ms} milliseconds",
                "epoch": f"{self.config.epoch_ms} milliseconds",
            }
        )

    def _producer(self, trigger: Trigger, record_batch_bytes_max: int | None) -> dict[str, str]:
        producer = PRODUCER | {"linger.ms": _LINGER_MS[trigger]}
        if record_batch_bytes_max is not None:
            # A larger batch would be refused, split into pieces of this size, and sent again.
            batch_bytes = min(RECORD_BATCH_BYTES_MAX, record_batch_bytes_max)
            producer["batch.size"] = str(batch_bytes)
        if self.checkpoint.has_changelogs:
            producer["max.request.size"] = str(ENTRY_BYTES_MAX)
        if self.config.exactly_once:
            producer["transaction.timeout.ms"] = str(transaction_timeout_ms(self.config))
        return self._kafka(producer)

    def _kafka(self, defaults: Mapping[str, str]) -> dict[str, str]:
        client = dict(defaults) | self._client()
        return {f"kafka.{name}": value for name, value in client.items()}

    def _client(self) -> dict[str, str]:
        servers = {"bootstrap.servers": self.config.bootstrap_servers}
        return dict(self.config.client_options) | servers

    def _java(self) -> Any:
        return self.session.jvm

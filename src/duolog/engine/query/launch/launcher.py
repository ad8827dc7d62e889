"""Launch a spec as a Spark query: sources, kernel, trigger, client settings.

Each call of `Launcher.start` is one Spark query; a `RunningQuery` starts several in turn when it
changes its mode on one checkpoint.

    LaunchContext      the application and its JVM        KernelExchange      counts, prints, calls
    SparkSources       what Spark reads                   QueryTransactions   exactly-once results
    ClientSettings     settings of Kafka's clients
"""

import contextlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from duolog.engine.changelog.changelogs import commit_topic
from duolog.engine.changelog.logged_state import begin_generation
from duolog.engine.checkpoint.generations import Generations, committed_json
from duolog.engine.checkpoint.owner import release
from duolog.engine.java_objects import JavaObject
from duolog.engine.json_object import Json
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.query.launch.client_settings import as_spark_options
from duolog.engine.query.launch.gates import Gates
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.query.launch.query_transactions import QueryTransactions
from duolog.engine.query.launch.spark_sources import SparkSources
from duolog.engine.query.launch.spec_topics import global_topics, is_table, written_topics
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.query.reports.kernel_exchange import KernelExchange
from duolog.engine.registry_users import tell_registry_users
from duolog.engine.topics.offsets import EndOffsets


@dataclass(frozen=True, slots=True)
class Launcher(LaunchContext):
    """Starts Spark queries of one application. Threads: one at a time."""

    partition_counts: Mapping[str, int] = field(default_factory=dict)
    """As of the first start."""
    until: Callable[[], EndOffsets] | None = None
    """Returns at each start where micro-batches end for good, for each partition that is read."""

    @property
    def exchange(self) -> KernelExchange:
        """The exchange between the kernel and this process."""
        return KernelExchange(self.session, self.application_id)

    @property
    def transactions(self) -> QueryTransactions:
        return QueryTransactions(self)

    @property
    def written_topics(self) -> list[str]:
        """The topics that the query writes to, except those that records choose themselves."""
        return written_topics(self.spec, self.config.errors.dead_letter_topic)

    @property
    def global_topics(self) -> set[str]:
        """The topics of global tables, whose records go to every task."""
        return global_topics(self.spec)

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
        with self.failing():
            tell_registry_users(self.session)
            self.session.kernel("Calls").reset(self.application_id)
            read = SparkSources(self, self.partition_counts, self.until)
            horizon = None if real_time else uuid.uuid4().hex
            if horizon is None:
                sources = read.in_real_time()
            else:
                sources = read.in_micro_batches(horizon, records_max)
            if real_time and is_one_jvm(self.config.master):
                self._open_gates()
            self.checkpoint.upgrade.settle()
            self.checkpoint.note_commits()
            kept = json.dumps({"stores": self.checkpoint.upgrade.initial_stores()})
            self._log_initial(spec_text, kept)
            envelopes = self.session.kernel("Kernel").apply(sources, spec_text, horizon, kept)
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
        with self.failing():
            started = self.session.kernel("Restore").start(
                _java(self.spark),
                spec,
                committed_json(committed),
                self.java_map(self.clients.consumer),
                self._options("available-now", None),
            )
        return StreamingQuery(started)

    def cancel_start(self) -> None:
        """Abort a start that is still writing changelogs. Any thread."""
        log = self.session.kernel("InitialChangelog")
        log.cancel(_java(self.session.spark), self.application_id)

    def release(self) -> None:
        """Release the checkpoint, so that another process can run the application."""
        self.close()
        # If the JVM has ended, the system has released the lock.
        with contextlib.suppress(OSError, Py4JError):
            release(self.checkpoint.directory, self.session.holder, self.session.java_pid)

    def close(self) -> None:
        """End everything but Spark's query and the claim, whatever fails."""
        self.transactions.close()
        for kind, name in (
            ("TableGate", self.application_id),
            ("StartOrder", self.application_id),
            ("CommitTopic", self.spark_dir),
        ):
            with contextlib.suppress(OSError, Py4JError):
                self.session.kernel(kind).close(name)
        with contextlib.suppress(OSError, Py4JError):
            self.session.kernel("ProcessorWorkers").end(self.application_id)
        with contextlib.suppress(OSError, Py4JError):
            self.session.kernel("Launcher").closeUnusedProducers()

    def _log_initial(self, spec: str, kept: str) -> None:
        """Write the initial contents of stores to their changelogs, before the first epoch."""
        stores = self.checkpoint.upgrade.initial_logs()
        if stores:
            settings = self.java_map(self.clients.changelog_producer)
            named: JavaObject = self.session.jvm.java.util.HashSet()
            for store in stores:
                named.add(store)
            log = self.session.kernel("InitialChangelog")
            log.write(_java(self.spark), spec, kept, named, settings)

    def _begin_generation(self) -> Json:
        """Return the changelog fields of the kernel's spec; empty without changelogs."""
        if not self.checkpoint.has_changelogs:
            return {}
        begun = begin_generation(self.config, self.checkpoint)
        settings = self.java_map(self.clients.commit_producer)
        head = json.dumps(begun.head() | {"state": self.checkpoint.spark_dir.name})
        log = self.session.kernel("CommitTopic")
        with self.failing():
            log.open(self.spark_dir, commit_topic(self.name_in_kafka), head, settings)
        return {"generation": begun.generation}

    def _open_gates(self) -> None:
        """Open the gates where records wait, which is possible only within one JVM."""
        topics = dict.fromkeys(source["topic"] for source in self.spec["sources"])
        Gates(self).open(
            {topic: is_table(self.spec, topic) for topic in topics},
            self.partition_counts,
            self.checkpoint.planned_positions(),
        )

    def _options(self, trigger: Trigger, record_batch_bytes_max: int | None) -> JavaObject:
        producer = self.clients.producer(trigger, record_batch_bytes_max)
        return self.java_map(
            as_spark_options(producer)
            | {
                "checkpointLocation": self.spark_dir,
                "queryName": self.application_id,
                "trigger": trigger,
                "interval": f"{self.config.interval_ms} milliseconds",
                "epoch": f"{self.config.epoch_ms} milliseconds",
            }
        )


def _java(spark: SparkSession) -> JavaObject:
    java: JavaObject = spark._jsparkSession  # noqa: SLF001 - PySpark has no public access to Java
    return java

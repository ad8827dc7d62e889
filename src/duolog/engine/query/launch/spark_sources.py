"""The sources of a Spark query: one for each topic or pattern, and one for ticks.

Micro-batches of all sources of a query end at one time, their horizon. Threads: one at a time.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from duolog.engine.java_objects import JavaObject
from duolog.engine.kernel_classes import kernel_class_name
from duolog.engine.query.launch.client_settings import as_spark_options
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.query.launch.spec_topics import global_topics, inputs, is_table
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.starting_offsets import spark_starting_offsets


@dataclass(frozen=True, slots=True)
class SparkSources:
    """The sources of one application."""

    context: LaunchContext
    partition_counts: Mapping[str, int]
    """As of the first start."""
    until: Callable[[], EndOffsets] | None = None
    """Returns at each start where micro-batches end for good, for each partition that is read."""

    def in_real_time(self) -> JavaObject:
        """Return the sources of a query in real time, as a Java list of data frames."""
        found: JavaObject = self.context.session.jvm.java.util.ArrayList()
        for topics in inputs(self.context.spec):
            options = self._options(topics, self.context.clients.consumer)
            records = self._load("RealTimeKafka", options)
            columns = ("key", "value", "topic", "partition", "offset", "headers")
            wanted = records.selectExpr(*columns, "unix_millis(timestamp) AS timestamp_ms")
            found.add(_java(wanted))
        return self._with_ticks(found)

    def in_micro_batches(self, horizon: str, records_max: Mapping[str, int]) -> JavaObject:
        """Return the sources of a query in micro-batches, as a Java list of data frames.

        `records_max` is the maximum number of records of each topic; a topic that it leaves out is
        bounded by the setting `max.offsets.per.trigger` only.
        """
        found: JavaObject = self.context.session.jvm.java.util.ArrayList()
        for number, topics in enumerate(inputs(self.context.spec)):
            options = self._options(topics, self.context.clients.consumer_of_micro_batches)
            options |= self._bounded(topics, records_max)
            options |= self._horizon(horizon, number, topics)
            found.add(_java(self._load("OrderedKafka", options)))
        return self._with_ticks(found)

    def _with_ticks(self, sources: JavaObject) -> JavaObject:
        """Add the source that sends the time to tasks that request it."""
        if "ticks" in self.context.spec:
            ticks = self.context.session.spark.readStream.format(kernel_class_name("TickSource"))
            application_id = self.context.application_id
            sources.add(_java(ticks.option("application.id", application_id).load()))
        return sources

    def _options(self, topics: list[str], consumer: Mapping[str, str]) -> dict[str, str]:
        counts = {topic: self.partition_counts.get(topic, 0) for topic in topics}
        starts = spark_starting_offsets(self.context.checkpoint.starts(), counts)
        # One Kafka source for each topic or pattern: maxOffsetsPerTrigger is divided within a
        # source, and a small table must not be slowed down by a large stream.
        return as_spark_options(consumer) | {
            "subscribe": ",".join(topics),
            "startingOffsets": starts,
            "failOnDataLoss": "true",
            "groupIdPrefix": f"duolog-{self.context.application_id}",
            "includeHeaders": "true",
        }

    def _bounded(self, topics: list[str], records_max: Mapping[str, int]) -> dict[str, str]:
        largest = self.context.config.offsets_per_trigger_max
        bound = sum(records_max.get(topic, largest) for topic in topics)
        return {"maxOffsetsPerTrigger": str(bound)}

    def _horizon(self, name: str, number: int, topics: list[str]) -> dict[str, str]:
        """Return the options by which the topics of this query end micro-batches at one time."""
        spec = self.context.spec
        options = {
            "horizon": name,
            "horizon.input": str(number),
            "horizon.table": str(is_table(spec, topics[0])).lower(),
            "horizon.application": self.context.application_id,
            "horizon.lost": self.context.config.lost_records,
            "horizon.global": str(topics[0] in global_topics(spec)).lower(),
        }
        planned = self.context.checkpoint.planned_positions()
        if start := {topic: planned[topic] for topic in topics if topic in planned}:
            options["horizon.start"] = json.dumps(start)
        if self.until is not None:
            ends = self.until()
            options["horizon.until"] = json.dumps({topic: ends.get(topic, {}) for topic in topics})
        return options

    def _load(self, source: str, options: dict[str, str]) -> DataFrame:
        reader = self.context.spark.readStream.format(kernel_class_name(source))
        return reader.options(**options).load()


def _java(frame: DataFrame) -> JavaObject:
    java: JavaObject = frame._jdf  # noqa: SLF001 - PySpark has no public access to Java
    return java

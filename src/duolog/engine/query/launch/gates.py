"""Open the gates of a real-time query, where its records wait; they need all tasks in one JVM.

    TableGate    a record of a stream waits for table rows that were written before it
    StartOrder   the records that a start finds are processed in the order of their timestamps

Micro-batches merge their input by timestamp and need neither. Threads: the one that starts Spark
queries.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from duolog.engine.java_objects import JavaObject
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.topics.offsets import EndOffsets


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one application; opening them closes those of its previous Spark query."""

    context: LaunchContext

    def open(
        self, is_table: Mapping[str, bool], partition_counts: Mapping[str, int], starts: EndOffsets
    ) -> None:
        """Open the gates.

        Args:
            is_table: the topics, and whether each is read as a table only.
            partition_counts: the number of partitions of each topic that exists.
            starts: the offsets where the query starts to read.
        """
        tables = [topic for topic, is_one in is_table.items() if is_one]
        streams = [topic for topic, is_one in is_table.items() if not is_one]
        context = self.context
        application_id, kernel = context.application_id, context.session.kernel
        begin, client = json.dumps(starts), context.java_map(context.clients.consumer)
        if tables and streams:
            waiting = self._list(tables), self._list(streams)
            kernel("TableGate").open(application_id, *waiting, begin, client)
        counts = {topic: partition_counts.get(topic, 0) for topic in streams or tables}
        order = kernel("StartOrder")
        order.close(application_id)
        if sum(counts.values()) > 1:
            partitions = {topic: dict.fromkeys(range(n), 0) for topic, n in counts.items() if n}
            order.open(application_id, json.dumps(partitions), begin, client)

    def _list(self, names: Iterable[str]) -> JavaObject:
        found: JavaObject = self.context.session.jvm.java.util.ArrayList()
        for name in names:
            found.add(name)
        return found

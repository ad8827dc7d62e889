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
from duolog.engine.query.client_defaults import CONSUMER
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.session import Session
from duolog.engine.topics.offsets import EndOffsets


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one application; opening them closes those of its previous Spark query."""

    session: Session
    config: EngineConfig
    application_id: str

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
        begin, client = json.dumps(starts), self._client()
        if tables and streams:
            gate = self.session.kernel("TableGate")
            gate.open(self.application_id, self._list(tables), self._list(streams), begin, client)
        counts = {topic: partition_counts.get(topic, 0) for topic in streams or tables}
        order = self.session.kernel("StartOrder")
        order.close(self.application_id)
        if sum(counts.values()) > 1:
            partitions = {topic: dict.fromkeys(range(n), 0) for topic, n in counts.items() if n}
            order.open(self.application_id, json.dumps(partitions), begin, client)

    def _list(self, names: Iterable[str]) -> JavaObject:
        found: JavaObject = self.session.jvm.java.util.ArrayList()
        for name in names:
            found.add(name)
        return found

    def _client(self) -> JavaObject:
        found: JavaObject = self.session.jvm.java.util.HashMap()
        client = CONSUMER | dict(self.config.client_options)
        client |= {"bootstrap.servers": self.config.bootstrap_servers}
        for name, value in client.items():
            found.put(name, value)
        return found

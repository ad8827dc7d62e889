"""Topologies with time-driven steps: a processor with both kinds of schedules, and windows that close when idle.

    in ─▶ watching ┬▶ counts     each record: the number of records of its key, the JVM of the process that counted it, and
                   │             whether the processor's in-memory count differed from its store
                   ├▶ times      each ten seconds of a task's stream time
                   └▶ clock      by the wall clock: how many keys a task has

    in ─▶ windows of ten seconds, on close, of each key

The processor's in-memory counts are right only if it was called with all records of its task, in
order.
"""

import datetime as dt
import os
from typing import Any, Final

from duolog import Processor, Record, Topology, key_value_store, tumbling

INTERVAL_MS: Final = 10_000
TOPICS: Final = ("in", "counts", "times", "clock", "windows", "chosen")
NO_CHOICE: Final = 7
NO_PARTITION: Final = 8


class Watching(Processor):
    """Counts the records of each key."""

    def init(self, context: Any) -> None:
        self.context = context
        self.counts = context.store("counts")
        self.held: dict[str, int] = {}
        context.schedule(dt.timedelta(milliseconds=INTERVAL_MS), "stream time", self.on_stream_time)
        context.schedule(dt.timedelta(milliseconds=300), "wall clock", self.on_wall_clock)

    def process(self, record: Record) -> None:
        before = self.counts.get(record.key) or 0
        stale = self.held.get(record.key, before) != before
        self.counts.put(record.key, before + 1)
        self.held[record.key] = before + 1
        reported = {"n": before + 1, "jvm": os.getppid(), "stale": stale}
        self.context.forward(record.with_value(reported), "counts")

    def on_stream_time(self, now: int) -> None:
        self.context.forward(Record(self.context.task_id, {"at": now}, now), "times")

    def on_wall_clock(self, now: int) -> None:
        known = {"keys": self.counts.approximate_num_entries()}
        self.context.forward(Record(self.context.task_id, known, now), "clock")


def watched(name: str) -> Topology:
    topology = Topology(name)
    came = topology.stream("in", key="id STRING", value="n BIGINT")
    children = came.process_to(
        Watching,
        stores=[key_value_store("counts", key="id STRING", value="n BIGINT")],
        children={
            "counts": "n BIGINT, jvm BIGINT, stale BOOLEAN",
            "times": "at BIGINT",
            "clock": "keys BIGINT",
        },
        name="watching",
    )
    for child, stream in children.items():
        stream.to(child)
    return topology


def idle(name: str) -> Topology:
    topology = Topology(name)
    came = topology.stream("in", key="id STRING", value="n BIGINT")
    ten = tumbling(dt.timedelta(milliseconds=INTERVAL_MS), grace="0 ms")
    by_key = came.group_by_key().windowed_by(ten, emit="on close", idle="5 seconds")
    by_key.count("n").to("windows")
    return topology


def chosen(key: str) -> int | None:
    """Return one of three partitions for a key, `k0`, `k1`, … k7 chooses none, and k8 cannot."""
    number = int(key[1:])
    if number == NO_PARTITION:
        raise ValueError("unlucky")
    return None if number == NO_CHOICE else (number + 1) % 3


def plain(name: str) -> Topology:
    """Nothing by time; functions of the key choose tasks and partitions."""
    topology = Topology(name)
    came = topology.stream("in", key="id STRING", value="n BIGINT")
    tasks = came.repartition(partitioner={"k0": 1, "k1": 2}.get)
    tasks.group_by_key().count("n").to("counts")
    came.to("chosen", partitioner=chosen)
    return topology


TOPOLOGIES: Final = {"watched": watched, "idle": idle, "plain": plain}

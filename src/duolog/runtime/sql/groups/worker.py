"""The process of a group: `python -P -m duolog.runtime.sql.groups.worker`.

Its standard input and output are the connection to the server, and its standard error is the log
of the group. The brokers, and all secrets, come as the first message: nothing of them is in the
arguments or the environment of this process or its JVM.
"""

import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Final

from duolog.core.errors import QueryError
from duolog.core.operating_system.processes import yield_to_others
from duolog.core.units import MIB
from duolog.ksql.udf.modules import add_directories
from duolog.runtime.schema_registries import provide_registries
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.groups.frames import Frames
from duolog.runtime.sql.groups.messages import Setup
from duolog.runtime.sql.groups.worker_loop import WorkerLoop
from duolog.runtime.sql.persistent.query_supervisor import ManagedQuery
from duolog.runtime.sql.persistent.shutdown_deadline import shutdown_deadline
from duolog.runtime.sql.persistent.spark_queries import SparkQueries
from duolog.schemas.registry_users import keep_users

_END_S: Final = 5.0


class SparkGroup:
    """The queries of one group on the Spark session of this process. Threads: any."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._spark = SparkQueries(setup.brokers, Topics(setup.brokers), setup.queries)
        topic = CommandTopic(setup.brokers, setup.service_id)
        self._replayed = ReplayedCatalog(topic, setup.registry)
        self._lock = threading.Lock()
        """Guards the replayed catalog."""

    def start(self, query_id: str, offset: int) -> ManagedQuery:
        """Start a query of the catalog as of an offset; as `GroupQueries.start`."""
        return self._spark.start(self._wanted(query_id, offset))

    def abandon(self, checkpoint: str) -> None:
        """End a start that rebuilds state on a checkpoint; as `GroupQueries.abandon`."""
        self._spark.abandon(checkpoint)

    def ping(self) -> None:
        """Return once the JVM has answered."""
        self._spark.ping_jvm()

    def jvm_end(self) -> str:
        """Return how the JVM has ended."""
        end, group = self._spark.ended_jvm(), self._setup.group
        if end is None:
            return ""
        if end.out_of_memory:
            heap = int(self._setup.queries.settings["driver.memory.bytes"]) // MIB
            return f'the JVM of group "{group}" ran out of its {heap} MiB of memory'
        return f'the JVM of group "{group}" has ended. {end.how}'

    def close(self) -> None:
        """Stop all queries and the JVM; kill it after a while."""
        self._spark.give_up()
        with shutdown_deadline(_END_S, self._spark.end_now):
            self._spark.close()

    def end_now(self) -> None:
        """Kill the JVM."""
        self._spark.end_now()

    def _wanted(self, query_id: str, offset: int) -> DesiredQuery:
        with self._lock:
            if self._replayed.topic.last < offset:
                self._replayed.follow_to(offset)
            wanted = self._replayed.wanted
        if query_id not in wanted:
            raise QueryError("the query has been terminated", query_id=query_id)
        return wanted[query_id]


def take_standard_pipes() -> Frames:
    """Return the connection to the server.

    From now on, this process and its children read nothing from standard input, and what they print
    goes to standard error.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return Frames(os.fdopen(source, "rb"), os.fdopen(sink, "wb"))


def main() -> int:
    """Run the process of a group; return its exit status."""
    frames = take_standard_pipes()
    message = frames.receive()
    if message is None:
        return 1
    setup = Setup.decode(message)
    del message
    if setup.nice:
        with contextlib.suppress(OSError):
            yield_to_others(setup.nice)
    for address, user in setup.registry_users.items():
        keep_users(address, user)
    add_directories(*(Path(one) for one in setup.module_path))
    provide_registries()
    group = SparkGroup(setup)
    WorkerLoop(frames, group).run()
    group.end_now()
    return 0


if __name__ == "__main__":
    # Threads that wait for a JVM that does not answer must not delay the end.
    status = main()
    sys.stderr.flush()
    os._exit(status)

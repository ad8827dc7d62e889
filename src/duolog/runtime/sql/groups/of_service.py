"""The groups of a service."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from duolog.runtime.sql.groups.group_process import GroupProcess
from duolog.runtime.sql.groups.group_processes import GroupProcesses
from duolog.runtime.sql.groups.group_starter import GroupStarter
from duolog.runtime.sql.groups.limits import SHARED_HEAP_BYTES, GroupLimits, JvmLimits
from duolog.runtime.sql.groups.messages import Setup
from duolog.runtime.sql.persistent.spark_queries import SparkQueries, SparkQuerySettings
from duolog.schemas.registry_users import known_users
from duolog.security.clients.brokers import Brokers


def groups_of_service(
    brokers: Brokers,
    queries: SparkQuerySettings,
    *,
    shared: SparkQueries,
    properties: Mapping[str, str],
    registry: str | None,
    offset: Callable[[], int],
) -> GroupStarter:
    """Return the starter of a service's queries.

    Args:
        brokers: the cluster's servers.
        queries: settings of all queries.
        shared: runs the queries of the default group.
        properties: properties of the service: limits, and its id.
        registry: address of the schema registry.
        offset: returns the offset of the last command that was read.

    Raises:
        SqlError: a limit is not allowed.
    """
    heap = queries.settings.get("driver.memory.bytes", "")
    # The engine reports a value that is not a number when it starts.
    heap_bytes = int(heap) if heap.isascii() and heap.isdecimal() else SHARED_HEAP_BYTES
    limits = JvmLimits.of_properties(properties, heap_bytes)

    def launch(group: str, own: GroupLimits) -> GroupProcess:
        log = f"engine-{group}.log"
        settings = {
            **queries.settings,
            "driver.memory.bytes": str(own.memory_bytes),
            # Writing one would delay the end of the JVM; that of the server writes it.
            "class.archive": "false",
        }
        setup = Setup(
            group,
            properties["ksql.service.id"],
            brokers,
            replace(queries, settings=settings, log_name=log),
            registry,
            known_users(),
            tuple(one for one in sys.path if one),
            own.nice,
        )
        return GroupProcess(setup, queries.data / log)

    return GroupStarter(shared, GroupProcesses(limits, launch), limits, offset)

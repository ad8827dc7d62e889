"""The executors of a cluster. A start waits for them, because their slots decide how a query runs.

Spark reports the number of concurrent tasks as soon as the session exists, but counts only
executors that have registered: none, right after the start. A query that used that number would
stay in micro-batches for good.
"""

import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from duolog.core.errors import ConfigError
from duolog.engine.errors import ExecutorsMissing
from duolog.engine.java_objects import JavaObject
from duolog.engine.jvm.jars import spark_home
from duolog.engine.jvm.masters import is_one_jvm, promised_slots, standalone_masters
from duolog.engine.settings import MASTER_VARIABLE, EngineConfig

REACH_S: Final = 5.0
FIRST_EXECUTOR_S: Final = 60.0
"""How long a start waits for the first executor, whose JVM may start on a busy machine."""
_SETTLED_S: Final = 3.0
_POLL_S: Final = 0.1


def ensure_master_answers(master: str, timeout_s: float = REACH_S) -> None:
    """Check that a standalone master listens; Spark would retry for a minute, then end the session.

    Raises:
        ConfigError: no master listens.
    """
    addresses = standalone_masters(master)
    for address in addresses:
        try:
            with socket.create_connection(address, timeout_s):
                return
        except OSError:
            continue
    if addresses:
        raise ConfigError(
            f"no Spark master answers at {master}",
            name="master",
            value=master,
            hint="Start it, or correct its address; without a cluster remove the setting "
            f"and {MASTER_VARIABLE}.",
        )


def await_executors(
    spark: SparkSession, config: EngineConfig, ended: Callable[[], bool] = lambda: False
) -> None:
    """Wait until all promised executors have registered, or until none has for some seconds.

    Raises:
        ExecutorsMissing: no executor has registered.
    """
    if is_one_jvm(config.master):
        return
    wanted = _promised_executors(config.master, config.spark)
    began = changed = time.monotonic()
    count = 0
    while not ended():
        now, found = time.monotonic(), _count(spark)
        if found != count:
            count, changed = found, now
        if wanted is not None and count >= wanted:
            return
        if count and wanted is None and now - changed > _SETTLED_S:
            return
        if now - began > FIRST_EXECUTOR_S:
            break
        time.sleep(_POLL_S)
    if not count:
        raise ExecutorsMissing(
            f"no executor of {config.master} registered within {FIRST_EXECUTOR_S:.0f} s",
            hint="Check that it has workers with free cores and memory "
            "(spark.executor.memory, 1 GiB by default), and that they can reach this "
            "machine (spark.driver.host).",
        )


def executors_left_in(master: str, spark: SparkSession) -> Path | None:
    """Return where Spark leaves jars and output of executors that it starts here for tests.

    This is in its installation directory, which it never cleans. None for any other master: workers
    have their own.
    """
    if promised_slots(master) is None or is_one_jvm(master):
        return None
    return spark_home() / "work" / str(spark.sparkContext.applicationId)


def slots_of(spark: SparkSession, master: str) -> int:
    """Return how many Spark tasks run at once: the limit for a real-time query."""
    if is_one_jvm(master):
        return spark.sparkContext.defaultParallelism
    # Not the default parallelism: it is at least two, and the user can set it.
    context = _context(spark)
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def _promised_executors(master: str, settings: Mapping[str, str]) -> int | None:
    if (slots := promised_slots(master)) is not None:
        return slots // int(master.split(",")[1])
    told = settings.get("spark.executor.instances", "")
    return int(told) if told.isdigit() else None


def _count(spark: SparkSession) -> int:
    return int(_context(spark).getExecutorIds().size())


def _context(spark: SparkSession) -> JavaObject:
    java: JavaObject = spark.sparkContext._jsc  # noqa: SLF001 - PySpark has no public access
    return java.sc()

"""Spark's settings, as `spark.NAME` among the settings of an application: which it may have, and which are Duolog's.

    spark.executor.memory=4g                 goes to Spark as it is
    spark.executor.extraJavaOptions=-Dx=y    goes behind what Duolog says
    spark.master, spark.driver.memory, …     have a setting of Duolog's own, and are refused
    spark.sql.ansi.enabled, …                bind the meaning of a query, and are refused

What is set here is that of the JVM: read once, when the session of a process starts.
"""

import re
from collections.abc import Mapping
from typing import Final

from duolog.core.errors import ConfigError
from duolog.engine.kernel_classes import kernel_class_name

PREFIX: Final = "spark."
EXECUTOR_MEMORY_MIN_MIB: Final = 512
"""Spark asks for 450 MiB (`UnifiedMemoryManager`), of what a collector leaves of the heap for objects."""
_EXECUTOR_MEMORY: Final = "spark.executor.memory"
_SIZE: Final = re.compile(r"(\d+)(?:([kmgt])b?)?")
_MEBIBYTES: Final = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
_ROCKSDB: Final = "spark.sql.streaming.stateStore.rocksdb"

FIXED: Final = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Spark would put settings and environment variables in the place of "${…}" in a literal or a name.
    "spark.sql.variable.substitute": "false",
    # Columns "a" and "A" are two.
    "spark.sql.caseSensitive": "true",
    # As in Java's maps; else a record with a key that is said twice would fail.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.streaming.unsupportedOperationCheck": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Version 1 can lose data on a failure in real time, which refuses such a checkpoint.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
    f"{_ROCKSDB}.boundedMemoryUsage": "true",
    # Counting rows reads each key once more before it is written.
    f"{_ROCKSDB}.trackTotalNumberOfRows": "false",
    # Reads topics in place, and without a shuffle where that may be.
    "spark.sql.extensions": kernel_class_name("Extensions"),
    # Spark's own takes what any stranger sends to one of its ports for a failure of the query.
    "spark.shuffle.manager.incremental": kernel_class_name("GuardedShuffle"),
    # Where a checkpoint is behind an URL, what LocalFiles does on a disk.
    "spark.sql.streaming.checkpointFileManagerClass": kernel_class_name("CheckpointFiles"),
    # Hadoop's own local files start a process for each chmod: 50 of them at the end of an epoch.
    "spark.hadoop.fs.file.impl": kernel_class_name("LocalFiles"),
    "spark.hadoop.fs.AbstractFileSystem.file.impl": kernel_class_name("LocalFiles") + "$Context",
}
"""What binds the meaning of a query, or what the kernel depends on: the same wherever it runs."""

DEFAULTS: Final = {
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # How long the shuffle of real time may hold a record back: 50 ms for each shuffle by default.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1ms",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What Spark's pages would show, which are off: by default plans and tasks of the last 1,000 micro-batches. They live so
    # long that they reach the heap's old part, and fill it until a collection of all of it stops everything for 0.3 s.
    "spark.ui.retainedJobs": "2",
    "spark.ui.retainedStages": "4",
    "spark.ui.retainedTasks": "100",
    "spark.ui.dagGraph.retainedRootRDDs": "2",
    "spark.sql.ui.retainedExecutions": "2",
}
"""What a user may set otherwise."""

_OWN: Final = {
    "spark.master": "master",
    "spark.driver.memory": "driver.memory.bytes",
    "spark.sql.shuffle.partitions": "tasks",
    f"{_ROCKSDB}.maxMemoryUsageMB": "state.memory.max.bytes",
}
"""What Duolog has a setting of its own for."""

_JOINED: Final = {
    "spark.driver.extraJavaOptions": " ",
    "spark.executor.extraJavaOptions": " ",
    "spark.driver.extraClassPath": ":",
    "spark.executor.extraClassPath": ":",
    "spark.jars": ",",
    "spark.plugins": ",",
    "spark.sql.streaming.streamingQueryListeners": ",",
}
"""What a user's goes behind Duolog's of, and what stands between them."""


def check_spark_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Return `given`, names and values, where Spark may have all of it.

    Raises:
        ConfigError: one of them is Duolog's to set, or keeps executors from starting.
    """
    for name, value in given.items():
        if name in _OWN:
            raise ConfigError(
                f'setting "{name}" is set by Duolog',
                name=name,
                value=value,
                hint=f'Use the setting "{_OWN[name]}".',
            )
        if name in FIXED:
            raise ConfigError(
                f'setting "{name}" is fixed: results or checkpoints would mean something else',
                name=name,
                value=value,
                detail=f"It is {FIXED[name]!r} wherever a query runs.",
                hint="Leave it out.",
            )
    if _EXECUTOR_MEMORY in given:
        _ensure_enough_memory(given[_EXECUTOR_MEMORY])
    return dict(given)


def _ensure_enough_memory(value: str) -> None:
    """See that executors can start: Spark ends them where a heap is below what it keeps for itself, and tries again for ever."""
    found = _SIZE.fullmatch(value.strip().lower())
    if found is None:
        return  # Spark says what it cannot read.
    mebibytes = int(found[1]) * _MEBIBYTES[found[2] or "m"]
    if mebibytes < EXECUTOR_MEMORY_MIN_MIB:
        raise ConfigError(
            f"executors of {value} do not start: Spark needs {EXECUTOR_MEMORY_MIN_MIB} MiB of heap",
            name=_EXECUTOR_MEMORY,
            value=value,
            hint=f"Say {_EXECUTOR_MEMORY}={EXECUTOR_MEMORY_MIN_MIB}m or more, or leave it out: it is 1g.",
        )


def with_spark_settings(conf: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return `conf` with what a user gives; what both have is joined where Spark takes lists.

    Example:
        >>> with_spark_settings({"spark.jars": "a.jar", "spark.ui.enabled": "false"},
        ...                     {"spark.jars": "b.jar", "spark.ui.enabled": "true"})
        {'spark.jars': 'a.jar,b.jar', 'spark.ui.enabled': 'true'}
    """
    joined = dict(conf)
    for name, value in given.items():
        before = joined.get(name, "")
        both = name in _JOINED and before and value
        joined[name] = f"{before}{_JOINED[name]}{value}" if both else value
    return joined

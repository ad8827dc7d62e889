"""Check and merge Spark's settings, given as `spark.NAME` among the settings of an application.

    spark.executor.memory=4g                 passed to Spark
    spark.executor.extraJavaOptions=-Dx=y    appended to Duolog's
    spark.master, spark.driver.memory, …     have a setting of Duolog's own, and are refused
    spark.sql.ansi.enabled, …                define the meaning of a query, and are refused

They apply to the JVM: read once, when the session of a process starts.
"""

import re
from collections.abc import Mapping
from typing import Final

from duolog.core.errors import ConfigError
from duolog.engine.kernel_classes import kernel_class_name

PREFIX: Final = "spark."
EXECUTOR_MEMORY_MIN_MIB: Final = 512
"""Spark requires 450 MiB (`UnifiedMemoryManager`) of the heap that the collector leaves."""
_EXECUTOR_MEMORY: Final = "spark.executor.memory"
_SIZE: Final = re.compile(r"(\d+)(?:([kmgt])b?)?")
_MEBIBYTES: Final = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
_ROCKSDB: Final = "spark.sql.streaming.stateStore.rocksdb"

FIXED: Final = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Otherwise Spark replaces "${…}" in a literal or a name by settings and environment variables.
    "spark.sql.variable.substitute": "false",
    # Columns "a" and "A" differ.
    "spark.sql.caseSensitive": "true",
    # As in Java's maps; otherwise a record with a duplicate key would fail.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.streaming.unsupportedOperationCheck": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Version 1 can lose data after a failure in real time, which refuses such a checkpoint.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    f"{_ROCKSDB}.changelogCheckpointing.enabled": "true",
    f"{_ROCKSDB}.boundedMemoryUsage": "true",
    # Counting rows reads each key once more before it is written.
    f"{_ROCKSDB}.trackTotalNumberOfRows": "false",
    # Reads topics in place, and without a shuffle if possible.
    "spark.sql.extensions": kernel_class_name("Extensions"),
    # Spark's own shuffle takes anything that a stranger sends to its ports for a failure of the
    # query.
    "spark.shuffle.manager.incremental": kernel_class_name("GuardedShuffle"),
    # For checkpoints at a URL; does what LocalFiles does on a disk.
    "spark.sql.streaming.checkpointFileManagerClass": kernel_class_name("CheckpointFiles"),
    # Hadoop's own local file system starts a process for each chmod: 50 of them at the end of an
    # epoch.
    "spark.hadoop.fs.file.impl": kernel_class_name("LocalFiles"),
    "spark.hadoop.fs.AbstractFileSystem.file.impl": kernel_class_name("LocalFiles") + "$Context",
}
"""Settings that define the meaning of a query, or that the kernel needs: the same everywhere."""

DEFAULTS: Final = {
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # How long the real-time shuffle may delay a record: 50 ms for each shuffle by default.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1ms",
    # Python reads rows over a socket. On a busy machine, it may need more than 15 s to connect.
    "spark.python.authenticate.socketTimeout": "600s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Data for Spark's web pages, which are off: by default plans and tasks of the last 1,000
    # micro-batches. They live so long that they reach the old generation, and fill it until a full
    # collection pauses everything for 0.3 s.
    "spark.ui.retainedJobs": "2",
    "spark.ui.retainedStages": "4",
    "spark.ui.retainedTasks": "100",
    "spark.ui.dagGraph.retainedRootRDDs": "2",
    "spark.sql.ui.retainedExecutions": "2",
}
"""Defaults that a user may override."""

_OWN: Final = {
    "spark.master": "master",
    "spark.driver.memory": "driver.memory.bytes",
    "spark.sql.shuffle.partitions": "tasks",
    f"{_ROCKSDB}.maxMemoryUsageMB": "state.memory.max.bytes",
}
"""Settings for which Duolog has its own."""

_JOINED: Final = {
    "spark.driver.extraJavaOptions": " ",
    "spark.executor.extraJavaOptions": " ",
    "spark.driver.extraClassPath": ":",
    "spark.executor.extraClassPath": ":",
    "spark.jars": ",",
    "spark.plugins": ",",
    "spark.sql.streaming.streamingQueryListeners": ",",
}
"""Settings whose user value is appended to Duolog's, each with its separator."""


def check_spark_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Return `given`, names and values, if Spark may have all of it.

    Raises:
        ConfigError: a setting is reserved for Duolog, or keeps executors from starting.
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
                f'setting "{name}" is fixed: results or checkpoints would have another meaning',
                name=name,
                value=value,
                detail=f"It is {FIXED[name]!r} for all queries.",
                hint="Remove it.",
            )
    if _EXECUTOR_MEMORY in given:
        _ensure_enough_memory(given[_EXECUTOR_MEMORY])
    return dict(given)


def _ensure_enough_memory(value: str) -> None:
    """Check that executors can start: Spark restarts those with too small a heap forever."""
    found = _SIZE.fullmatch(value.strip().lower())
    if found is None:
        return  # Spark reports what it cannot parse.
    mebibytes = int(found[1]) * _MEBIBYTES[found[2] or "m"]
    if mebibytes < EXECUTOR_MEMORY_MIN_MIB:
        raise ConfigError(
            f"executors of {value} do not start: Spark needs {EXECUTOR_MEMORY_MIN_MIB} MiB of heap",
            name=_EXECUTOR_MEMORY,
            value=value,
            hint=f"Set {_EXECUTOR_MEMORY}={EXECUTOR_MEMORY_MIN_MIB}m or more, or remove it: "
            "the default is 1g.",
        )


def with_spark_settings(conf: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return `conf` with the user's settings; values of both are joined if Spark takes lists.

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

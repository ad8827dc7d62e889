"""Requirements and limits of a topology on a Spark cluster, beyond those on one machine.

Tasks of a cluster run in other JVMs than the one that this process has started:

    functions that this process calls     refused: they exist in this process only
    functions of keys                     called in a process next to each executor, as others are
    actions by wall-clock time            tasks request the time from the driver, which has ticks
    processors                            recreated if their task moves to another executor
    exactly-once results                  each executor has a transaction; the driver commits all
    a task that runs twice at once        refused under exactly-once: both would write
    the time of a partition               refused: only the JVM that read it before knows the time
    the order of tables and streams       in real time records do not wait for table rows
    printed records                       written to the standard output of the executors
    checkpoints                           a directory that all executors see at the same path
"""

from collections.abc import Callable
from pathlib import Path

from duolog.core.errors import ConfigError
from duolog.engine.checkpoint.owner import OWNER_FILE
from duolog.engine.errors import ExecutorsMissing
from duolog.engine.json_object import Json
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.lowering.expressions.python_functions import described_of_keys
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.executors import slots_of
from duolog.engine.spark.session import Session
from duolog.engine.spark.slots import slots_free
from duolog.plan.cutting.levels import Levels
from duolog.plan.nodes import Plan
from duolog.plan.nodes.plan import key_functions_of


def ensure_can_run(plan: Plan, spec: Callable[[], Json], config: EngineConfig) -> None:
    """Check that nothing in the plan depends on tasks in the JVM of this process.

    Raises:
        ConfigError: something does, and the master is a cluster.
    """
    master = config.master
    if is_one_jvm(master):
        return
    if config.exactly_once and config.spark.get("spark.speculation", "").lower() == "true":
        raise ConfigError(
            "processing.guarantee=exactly_once_v2 cannot be combined with "
            "spark.speculation: a task that runs twice writes twice",
            name="spark.speculation",
            value="true",
            hint="Remove spark.speculation, or use at_least_once.",
        )
    if plan.calls:
        raise _not_there(
            f"{plan.calls[0].name} calls a function that exists only in this process, not "
            "on a cluster",
            master,
            'Use a local master; or write the records to a topic with to("…"), and consume it.',
        )
    for source in spec()["sources"]:
        if source.get("invalid_timestamp") == "partition_time":
            raise _not_there(
                f'UsePartitionTimeOnInvalidTimestamp of topic "{source["topic"]}" needs a '
                "local master",
                master,
                "Use FailOnInvalidTimestamp or LogAndSkipOnInvalidTimestamp.",
            )


def functions_on_executors(levels: Levels, master: str) -> list[Json]:
    """Return the functions that executors of a cluster call; with a local master, none."""
    return [] if is_one_jvm(master) else described_of_keys(key_functions_of(levels.nodes))


def ensure_shared(directory: Path, session: Session, master: str) -> None:
    """Check that the executors see the checkpoint, which must be claimed, at the same path.

    Raises:
        ExecutorsMissing: an executor does not see it.
    """
    if is_one_jvm(master):
        return
    spark = session.spark
    java = spark.sparkContext._jsc  # noqa: SLF001 - PySpark has no public access to it
    shared = session.kernel("SharedDirectory")
    unseen = str(shared.unseen(java, str(directory / OWNER_FILE), slots_of(spark, master)))
    if unseen:
        raise ExecutorsMissing(
            f"checkpoint {directory} is not visible to all executors",
            detail=f"{unseen[:1].upper()}{unseen[1:]}.",
            hint="Put the data directory (--data) on a file system that this machine and all "
            "workers mount at the same path, and allow the workers to write there.",
        )


def has_room(directory: Path, needed: int, master: str, session: Callable[[], Session]) -> bool:
    """Return whether the real-time query on a checkpoint fits now: workers join and leave."""
    if is_one_jvm(master):
        return True
    return needed <= slots_free(slots_of(session().spark, master), besides=directory)


def _not_there(what: str, master: str, hint: str) -> ConfigError:
    return ConfigError(what, name="master", value=master, hint=hint)

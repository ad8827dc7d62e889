"""What a topology on a Spark cluster needs beyond one on this machine, and what cannot be there.

Tasks of a cluster are in other JVMs than the one that this process has started:

    functions that this process is to call   refused: they are here alone
    windows that close by the wall clock     refused: ticks are made when tasks in this JVM ask for them
    processors                               refused: they are called by such ticks
    results exactly once                     each executor has a transaction, and the driver commits all (`transactions`)
    a task that runs twice at once           refused with exactly once: both would write
    the time of a partition                  refused: it is known to the JVM that has read the partition before
    the order of tables and streams          in micro-batches as anywhere; in real time nobody waits for rows of a table
    what is printed                          stands in the standard output of the executors
    checkpoints                              must be a directory that all executors have at the same path
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from duolog.core.errors import ConfigError
from duolog.engine.errors import ExecutorsMissing
from duolog.engine.executors import slots_of
from duolog.engine.masters import is_one_jvm
from duolog.engine.owner import OWNER_FILE
from duolog.engine.session import Session
from duolog.engine.settings import EngineConfig
from duolog.engine.slots import slots_free
from duolog.plan.nodes import Plan
from duolog.plan.nodes.process import Process


def ensure_can_run(plan: Plan, spec: Callable[[], Mapping[str, Any]], config: EngineConfig) -> None:
    """See that nothing of the plan depends on tasks in the JVM of this process.

    Raises:
        ConfigError: something does, and the master is a cluster.
    """
    master = config.master
    if is_one_jvm(master):
        return
    if config.exactly_once and config.spark.get("spark.speculation", "").lower() == "true":
        raise ConfigError(
            "processing.guarantee=exactly_once_v2 cannot be with spark.speculation: a task that runs twice writes twice",
            name="spark.speculation",
            value="true",
            hint="Leave spark.speculation out, or use at_least_once.",
        )
    calling = [*(node.name for node in plan.calls), *plan.key_functions]
    if calling:
        raise _not_there(
            f"{calling[0]} calls a function, which the machines of a cluster do not have",
            master,
            'Use a local master; or write the records to a topic, and read it: to("…").',
        )
    lowered = spec()
    if "ticks" in lowered:
        raise _why_ticks(plan, master)
    for source in lowered["sources"]:
        if source.get("invalid_timestamp") == "partition_time":
            raise _not_there(
                f'UsePartitionTimeOnInvalidTimestamp of topic "{source["topic"]}" needs a local master',
                master,
                "Use FailOnInvalidTimestamp or LogAndSkipOnInvalidTimestamp.",
            )


def _why_ticks(plan: Plan, master: str) -> ConfigError:
    processor = next((node.name for node in plan.nodes if isinstance(node, Process)), None)
    if processor is not None:
        return _not_there(
            f'processor "{processor}" needs a local master: it is called by time',
            master,
            "Use a local master; on a cluster a function in a map or an aggregate does, where one will do.",
        )
    return _not_there(
        "windows that close when no record comes (idle_timeout) need a local master",
        master,
        "Leave it out: windows then close with the records that come.",
    )


def ensure_shared(directory: Path, session: Session, master: str) -> None:
    """See that the executors have the checkpoint at the path where it is here. It is claimed already.

    Raises:
        ExecutorsMissing: one of them has not.
    """
    if is_one_jvm(master):
        return
    spark = session.spark
    unseen = session.kernel("SharedDirectory").unseen(
        spark.sparkContext._jsc,  # noqa: SLF001 - PySpark has no public way to it
        str(directory / OWNER_FILE),
        slots_of(spark, master),
    )
    if unseen:
        raise ExecutorsMissing(
            f"checkpoint {directory} is not a directory of all executors",
            detail=f"{unseen[:1].upper()}{unseen[1:]}.",
            hint="Put the data directory (--data) on a file system that this machine and all workers have at the same "
            "path, and let the workers write there.",
        )


def has_room(directory: Path, needed: int, master: str, session: Callable[[], Session]) -> bool:
    """Tell whether the real-time query on a checkpoint fits now: workers of a cluster come and go."""
    if is_one_jvm(master):
        return True
    return needed <= slots_free(slots_of(session().spark, master), besides=directory)


def _not_there(what: str, master: str, hint: str) -> ConfigError:
    return ConfigError(what, name="master", value=master, hint=hint)

"""Describe how a plan runs, as text for people.

application "flights", 2 tasks, as at its first start
mode: real-time, once caught up in micro-batches. Every operator allows it, and …
topics: flights 2 partitions, airlines 1 partition
then the levels, sub-topologies, stores, edges and sinks of `duolog.plan.text.describe`, and
the mode, store and expiry of each operator, and how each Python function is called
"""

from collections.abc import Iterator, Mapping

from duolog.engine.explain_operators import explain_operators
from duolog.engine.modes import ChosenMode
from duolog.engine.settings import CACHE_BYTES_MAX_DEFAULT
from duolog.plan.cutting.levels import Levels
from duolog.plan.cutting.python_calls import function_calls
from duolog.plan.text.describe import describe


def explain(
    levels: Levels,
    application_id: str,
    chosen: ChosenMode,
    partition_counts: Mapping[str, int | None],
    *,
    no_broker_at: str = "",
    tasks_pinned: bool = False,
    cache_bytes_max: int = CACHE_BYTES_MAX_DEFAULT,
) -> str:
    """Return the levels, sub-topologies, stores and sinks of a plan, its mode and the reason for it.

    They are followed by the operators: what each stores, until when and why, and the modes it runs
    in.

    Args:
        levels: the plan, cut.
        application_id: the id that identifies its state.
        chosen: its mode.
        partition_counts: of each source topic; None if the topic does not exist.
        no_broker_at: the addresses at which no broker answered; then no partition count is known.
        tasks_pinned: whether a first start has fixed the number of tasks.
        cache_bytes_max: the size of the record cache.
    """
    when = ", once caught up in micro-batches" if chosen.catches_up else ""
    since = ", as at its first start" if tasks_pinned else ""
    return "\n".join(
        [
            f'application "{application_id}", {_counted(levels.tasks, "task")}{since}',
            f"mode: {chosen.live}{when}. {chosen.why}",
            f"topics: {_topics(levels.tasks, partition_counts, no_broker_at)}",
            describe(levels),
            "Operators",
            *explain_operators(levels, cache_bytes_max=cache_bytes_max),
            *_functions(levels),
        ]
    )


def _functions(levels: Levels) -> Iterator[str]:
    calls = function_calls(levels)
    if calls:
        yield "Functions in Python"
    for call in calls:
        yield f"  {call}"


def _topics(tasks: int, partition_counts: Mapping[str, int | None], no_broker_at: str) -> str:
    if no_broker_at:
        # Then the number of tasks is that of the checkpoint, of the setting, or one.
        unknown = f"No broker answers at {no_broker_at}, so their partitions are unknown."
        return f"{', '.join(partition_counts)}. {unknown}"
    told = ", ".join(
        f"{topic} {'does not exist' if count is None else _counted(count, 'partition')}"
        for topic, count in partition_counts.items()
    )
    if any(count is not None and count > tasks for count in partition_counts.values()):
        told += f". All partitions are read; their records are routed by key to {_counted(tasks, 'task')}."
    return told


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

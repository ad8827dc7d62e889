"""What runs, and how: a plan as text for people.

application "flights", 2 tasks
mode: real-time, once caught up in micro-batches. Every operator allows it, and …
topics: flights 2 partitions, airlines 1 partition
then the levels, sub-topologies, stores, edges and sinks of `duolog.plan.describe`
"""

from collections.abc import Mapping

from duolog.engine.modes import ChosenMode
from duolog.plan.describe import describe
from duolog.plan.levels import Levels


def explain(
    levels: Levels, application_id: str, chosen: ChosenMode, partition_counts: Mapping[str, int]
) -> str:
    """Return the levels, sub-topologies, stores and sinks of a plan, and its mode and why."""
    when = ", once caught up in micro-batches" if chosen.catches_up else ""
    topics = ", ".join(
        f"{topic} {_counted(count, 'partition')}" for topic, count in partition_counts.items()
    )
    return "\n".join(
        [
            f'application "{application_id}", {_counted(levels.tasks, "task")}',
            f"mode: {chosen.live}{when}. {chosen.why}",
            f"topics: {topics}",
            describe(levels),
        ]
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

"""Describe how a plan runs, as text for people.

application "flights", 2 tasks, as at its first start
mode: real-time, once caught up in micro-batches. Every operator allows it, and …
topics: flights 2 partitions, airlines 1 partition
then the levels, sub-topologies, stores, edges and sinks of `duolog.plan.text.describe`, and
the mode, store and expiry of each operator, and how each Python function is called
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from duolog.core.counts import counted
from duolog.engine.explain_operators import explain_operators
from duolog.engine.modes import ChosenMode
from duolog.engine.settings import CACHE_BYTES_MAX_DEFAULT
from duolog.plan.cutting.levels import Levels
from duolog.plan.cutting.python_calls import function_calls
from duolog.plan.text.describe import describe


@dataclass(frozen=True, slots=True)
class KnownTopics:
    """The source topics of a plan, as far as they are known."""

    partition_counts: Mapping[str, int | None]
    """Of each topic; None if it does not exist."""
    no_broker_at: str = ""
    """The addresses at which no broker answered; then no partition count is known."""

    def render(self, tasks: int) -> str:
        """Return the topics as text; partitions beyond the number of tasks are explained."""
        counts = self.partition_counts
        if self.no_broker_at:
            # Then the number of tasks is that of the checkpoint, of the setting, or one.
            unknown = f"No broker answers at {self.no_broker_at}, so their partitions are unknown."
            return f"{', '.join(counts)}. {unknown}"
        found = ", ".join(
            f"{topic} {'does not exist' if count is None else counted(count, 'partition')}"
            for topic, count in counts.items()
        )
        if any(count is not None and count > tasks for count in counts.values()):
            routed = f"their records are routed by key to {counted(tasks, 'task')}."
            found += f". All partitions are read; {routed}"
        return found


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan that has been cut, and the facts about how it runs."""

    levels: Levels
    application_id: str
    chosen: ChosenMode
    topics: KnownTopics
    tasks_pinned: bool = False
    """Whether a first start has fixed the number of tasks."""
    cache_bytes_max: int = CACHE_BYTES_MAX_DEFAULT
    """The size of the record cache."""

    def render(self) -> str:
        """Return the levels, sub-topologies, stores and sinks of the plan, its mode and the reason.

        They are followed by the operators: what each stores, until when and why, and the modes it
        runs in.
        """
        tasks, chosen = self.levels.tasks, self.chosen
        when = ", once caught up in micro-batches" if chosen.catches_up else ""
        since = ", as at its first start" if self.tasks_pinned else ""
        return "\n".join(
            [
                f'application "{self.application_id}", {counted(tasks, "task")}{since}',
                f"mode: {chosen.live}{when}. {chosen.why}",
                f"topics: {self.topics.render(tasks)}",
                describe(self.levels),
                "Operators",
                *explain_operators(self.levels, cache_bytes_max=self.cache_bytes_max),
                *_functions(self.levels),
            ]
        )


def _functions(levels: Levels) -> Iterator[str]:
    calls = function_calls(levels)
    if calls:
        yield "Functions in Python"
    for call in calls:
        yield f"  {call}"

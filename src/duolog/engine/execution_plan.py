"""A plan ready to run: cut into levels, with partition counts and a mode."""

from collections.abc import Mapping
from dataclasses import dataclass

from duolog.engine.lowering.nodes.idle import waits_idle
from duolog.engine.modes import ChosenMode, choose_mode
from duolog.engine.settings import Mode
from duolog.engine.spark.slots import slots_free, slots_needed
from duolog.plan.cutting.levels import Levels


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """The levels of a plan, the partitions of its topics, the slots that it needs, and its mode."""

    levels: Levels
    partition_counts: dict[str, int]
    needed: int
    chosen: ChosenMode

    @classmethod
    def of(
        cls,
        levels: Levels,
        counts: Mapping[str, int],
        mode: Mode,
        slots_total: int | None,
        *,
        exactly_once: bool,
    ) -> "ExecutionPlan":
        """Choose the mode of a plan; partitions of a missing topic are estimated."""
        largest = max(counts.values(), default=1)
        sources = levels.plan.sources
        unknown = {of.topic for of in sources if not any(map(of.reads_topic, counts))}
        partitions = sum(counts.values()) + largest * len(unknown)
        partitions += waits_idle(levels.nodes)  # Ticks are a source with one partition.
        needed = slots_needed(partitions, levels.tasks, len(levels.levels))
        chosen = choose_mode(
            mode,
            needed=needed,
            free=None if slots_total is None else slots_free(slots_total),
            slots_total=slots_total or 0,
            exactly_once=exactly_once,
        )
        return cls(levels, dict(counts), needed, chosen)

"""Choose the mode in which a query runs, and state the reason.

    micro-batch   highest throughput, inputs merged by timestamp
    real-time     milliseconds, records as they arrive; existing records are first read in
                  micro-batch passes, until little event time is left (`going_live`)
    auto          the same, and until few records are left; micro-batches for good if real
                  time does not fit

The passes before real time are not for speed. After a crash or a stop within an epoch, a start
reads table rows and stream records of that epoch again. Only micro-batches merge them by timestamp;
in real time a stream record could overtake the table row that it joins.

Modes may alternate on one checkpoint: both keep the same state and the same source offsets.
"""

from dataclasses import dataclass
from typing import Literal

from duolog.engine.settings import Mode
from duolog.engine.spark.slots import render_shortage

LiveMode = Literal["micro-batch", "real-time"]


@dataclass(frozen=True, slots=True)
class ChosenMode:
    """The mode of a query once it is live, and a sentence with the reason."""

    live: LiveMode
    catches_up: bool
    why: str
    waits_for_lag: bool = True
    """Whether the number of remaining records matters, in addition to their event time."""


def choose_mode(
    mode: Mode, *, needed: int, free: int | None, slots_total: int, exactly_once: bool = False
) -> ChosenMode:
    """Choose the mode of a query that needs `needed` slots in real time; `free` is None if unknown.

    With `exactly_once` results become visible when their epoch is committed, and micro-batches
    commit more often.

    Example:
        >>> choose_mode("auto", needed=6, free=62, slots_total=64).live
        'real-time'
        >>> choose_mode("auto", needed=6, free=2, slots_total=4).why
        'It needs 6 slots, 2 of 4 are free.'
    """
    if mode == "micro-batch":
        return ChosenMode("micro-batch", catches_up=False, why="It was requested.")
    if mode == "real-time":
        why = "It was requested."
        if free is not None and needed > free:
            why += f" {render_shortage(needed, free, slots_total)} A start is refused."
        return ChosenMode("real-time", catches_up=True, why=why, waits_for_lag=False)
    if exactly_once:
        why = (
            "With exactly_once_v2 results are visible once committed, and micro-batches "
            "commit more often."
        )
        return ChosenMode("micro-batch", catches_up=False, why=why)
    if free is None:
        why = f"Every operator allows it, if the cluster has {needed} free slots when it starts."
        return ChosenMode("real-time", catches_up=True, why=why)
    if needed > free:
        why = render_shortage(needed, free, slots_total)
        return ChosenMode("micro-batch", catches_up=False, why=why)
    why = f"Every operator allows it, and {needed} of {free} free slots suffice."
    return ChosenMode("real-time", catches_up=True, why=why)

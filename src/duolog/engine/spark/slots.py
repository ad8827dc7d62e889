"""Track which queries hold Spark's slots in this process.

A real-time query holds one slot for each source partition and one for each task of each level, from
start to end. Spark would queue a query that does not fit forever; this ledger refuses it
and reports the numbers instead.

A holder is identified by its checkpoint: two applications with the same id may run in one process.

Thread rule: any thread.
"""

import threading
from pathlib import Path
from typing import Final

from duolog.core.counts import counted
from duolog.engine.errors import SlotsMissing

# Slots that real-time queries leave free, so that micro-batches and small jobs can still run.
SLOTS_RESERVED: Final = 2

_lock = threading.Lock()
_held: dict[Path, int] = {}


def slots_needed(source_partitions: int, tasks: int, levels: int) -> int:
    """Return how many slots a real-time query of this size holds."""
    return source_partitions + tasks * levels


def slots_free(slots_total: int, besides: Path | None = None) -> int:
    """Return how many slots a new real-time query may take, or the one on checkpoint `besides`."""
    with _lock:
        return _free(slots_total, besides)


def hold_slots(checkpoint: Path, query_id: str, needed: int, slots_total: int) -> None:
    """Take `needed` slots for the application `query_id` on `checkpoint`.

    Raises:
        SlotsMissing: too few slots are free.
    """
    with _lock:
        free = _free(slots_total)
        if needed > free:
            raise SlotsMissing(
                f'application "{query_id}" does not fit the free slots in real-time mode',
                query_id=query_id,
                detail=render_shortage(needed, free, slots_total),
                hint='Set "master" to more slots, such as local[128], add slots to the '
                "workers of a cluster, or run it in "
                "micro-batches.",
            )
        _held[checkpoint] = needed


def release_slots(checkpoint: Path) -> None:
    """Release the slots of the application on `checkpoint`; does nothing if it holds none."""
    with _lock:
        _held.pop(checkpoint, None)


def render_shortage(needed: int, free: int, slots_total: int) -> str:
    verb = "is" if free == 1 else "are"
    return f"It needs {counted(needed, 'slot')}, {free} of {slots_total} {verb} free."


def _free(slots_total: int, besides: Path | None = None) -> int:
    held = sum(slots for checkpoint, slots in _held.items() if checkpoint != besides)
    return max(0, slots_total - SLOTS_RESERVED - held)

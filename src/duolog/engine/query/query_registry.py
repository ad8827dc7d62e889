"""Register the queries that this process runs or starts, by checkpoint.

Of two queries on one checkpoint, Spark silently stops the first. So starts on one checkpoint run
one after the other, and the second is refused. A second query with the same id on another
checkpoint is refused, too: the JVM identifies counts, printed records and callbacks by the id.
Queries of two SQL services may have equal ids. Threads: any.
"""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duolog.engine.errors import CheckpointInUse
from duolog.engine.query.query import RunningQuery

# Starts on different checkpoints run in parallel; two may share a lock by chance, and then one
# waits.
_starting: Final = tuple(threading.Lock() for _ in range(64))
_naming: Final = tuple(threading.Lock() for _ in range(64))
_by_checkpoint: Final[dict[Path, RunningQuery]] = {}


@contextlib.contextmanager
def start_of(checkpoint: Path, application_id: str) -> Iterator[None]:
    """Hold the locks of a start: that of the checkpoint and that of the id."""
    by_name = _naming[hash(application_id) % len(_naming)]
    with by_name, _starting[hash(checkpoint) % len(_starting)]:
        yield


def note_running(checkpoint: Path, query: RunningQuery) -> None:
    _by_checkpoint[checkpoint] = query


def runs_here(checkpoint: Path) -> bool:
    """Return whether this process runs a query on a checkpoint."""
    running = _by_checkpoint.get(checkpoint)
    return running is not None and not running.has_ended


def forget_ended() -> None:
    """Release the resources of ended queries: clients with their connections, sessions of JVMs."""
    for place, query in list(_by_checkpoint.items()):
        if query.has_ended:
            del _by_checkpoint[place]


def stop_running(checkpoint: Path) -> None:
    """Stop the query that this process runs on a checkpoint, if there is one."""
    if (running := _by_checkpoint.get(checkpoint)) is not None:
        running.stop()


def ensure_not_running(checkpoint: Path, application_id: str) -> None:
    """Raise CheckpointInUse if this process runs a query on this checkpoint, or with this id."""
    if runs_here(checkpoint):
        raise CheckpointInUse(
            f'application "{application_id}" is already running',
            query_id=application_id,
            detail=f"This process runs it, on checkpoint {checkpoint}.",
            hint='Stop it first, or give this application another name, Topology("…").',
        )
    for place, other in list(_by_checkpoint.items()):
        if other.application_id == application_id and not other.has_ended:
            raise CheckpointInUse(
                f'an application "{application_id}" is already running in this process',
                query_id=application_id,
                detail=f"The other one uses checkpoint {place}, this one {checkpoint}. Their "
                "metrics and printed records would be mixed.",
                hint="Stop the other one, give this one another name, or start it in a "
                "process of its own. Run each SQL service in a duolog sql of its own.",
            )


def running_queries() -> list[RunningQuery]:
    """Return the queries that run in this process, of all its engines, by name. Any thread."""
    running = [query for query in list(_by_checkpoint.values()) if not query.has_ended]
    return sorted(running, key=lambda query: query.application_id)

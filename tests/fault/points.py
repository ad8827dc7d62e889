"""The kernel's points: places between two steps where a test ends a JVM, holds it while something else is ended, or has a step fail.

Each is a call of `FailPoints.at` in the kernel's sources; `test_points.py` holds the two lists
together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

VARIABLE: Final = "DUOLOG_POINT"
POINTS: Final = {
    "sink.open": "a task begins to write its results",
    "sink.send": "a result is about to be given to the producer",
    "sink.written": "all results of a task are acknowledged",
    "executor.named": "an executor has left its transactional id in the checkpoint, and not used it yet",
    "state.before": "a file of the state is written, and does not have its name yet",
    "state.after": "a file of the state has its name",
    "checkpoint.sync": "one of the files that an entry counts on is about to be synced",
    "offsets.before": "an epoch is planned, and not yet announced",
    "offsets.after": "an epoch is planned",
    "commits.before": "state and results of an epoch are there, and Spark's commit log does not say so yet",
    "transaction.marker": "an epoch is ready to be committed, with exactly once",
    "transaction.commit": "the marker is in its transaction, which is not committed",
    "transaction.decided": "the marker is committed, and names transactions of executors that are not",
    "transaction.end": "one of the executors' transactions is about to be committed",
    "transaction.committed": "its transaction is committed, and Spark's commit log does not say so yet",
    "commits.after": "Spark's commit log says that an epoch is done",
}
OF_EXECUTORS: Final = ("executor.named", "sink.open", "sink.send", "sink.written")
"""Those that tasks pass: on a cluster they are passed in executors."""
OF_CLUSTERS: Final = ("executor.named", "transaction.decided", "transaction.end")
"""Points that are never passed in one JVM."""
NOT_OF_CLUSTERS: Final = ("state.before", "state.after")
"""Those of files that one JVM syncs together: an executor syncs each as it is closed."""
Action = Literal["kill", "hold", "fail"]


@dataclass(frozen=True, slots=True)
class Armed:
    """A point at which a JVM started with `environment` ends, waits until `go`, or fails the step, once."""

    name: str
    turn: int
    action: Action
    file: Path
    """Made by the JVM that reaches the point; while it is there, no other one stops."""

    @property
    def environment(self) -> Mapping[str, str]:
        return {VARIABLE: f"{self.name}:{self.turn}:{self.action}:{self.file}"}

    @property
    def is_reached(self) -> bool:
        return self.file.exists()

    def go(self) -> None:
        """Release a JVM that is held at the point, and let all others pass."""
        temporary = self.file.with_suffix(".go")
        temporary.write_text("go")
        temporary.replace(self.file)

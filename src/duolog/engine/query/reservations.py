"""Reserve checkpoints against other processes while the JVM that will own them starts.

    reserve ──▶ the JVM starts ──▶ claim, which includes the reservation ──▶ release
       └── the JVM does not start, or the engine closes ──▶ given back

Threads: one start at a time on a checkpoint, as `query_registry.start_of` ensures.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from duolog.engine.checkpoint.owner import give_back, reserve
from duolog.engine.query.query_registry import runs_here


class Reservations:
    """The checkpoints that one engine has reserved but not claimed."""

    def __init__(self) -> None:
        self._directories: set[Path] = set()

    def reserve(self, directory: Path, application_id: str) -> None:
        """Reserve a checkpoint on this machine; raises as `owner.reserve`."""
        if reserve(directory, application_id):
            self._directories.add(directory)

    @contextlib.contextmanager
    def while_starting(self, directory: Path, application_id: str) -> Iterator[None]:
        """Reserve a checkpoint for the block, which claims it; a failure ends the reservation."""
        had = directory in self._directories
        self.reserve(directory, application_id)
        try:
            yield
        except BaseException:
            if not had:
                self._give_back(directory)
            raise
        # Now part of the claim: when this engine closes, the next engine of the same process may
        # claim it.
        self._directories.discard(directory)

    def give_back(self) -> None:
        """Give back all reservations that were not claimed."""
        for directory in list(self._directories):
            self._give_back(directory)

    def _give_back(self, directory: Path) -> None:
        # If another engine of this process has claimed it meanwhile, it is in use.
        if directory in self._directories and not runs_here(directory):
            give_back(directory)
        self._directories.discard(directory)

"""Checkpoints that an engine keeps other processes from, before it owns them: while its JVM starts.

    reserve ──▶ the JVM starts ──▶ claim, which the reservation is then a part of ──▶ release
       └── it does not start, or the engine closes ──▶ given back

Threads: one start at a time on a checkpoint, as `running.start_of` sees to.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from duolog.engine.checkpoint.owner import give_back, reserve
from duolog.engine.query.query_registry import runs_here


class Reservations:
    """The checkpoints that one engine has reserved and not claimed."""

    def __init__(self) -> None:
        self._directories: set[Path] = set()

    def reserve(self, directory: Path, application_id: str) -> None:
        """Keep the other processes of this machine from a checkpoint; raises as `owner.reserve`."""
        if reserve(directory, application_id):
            self._directories.add(directory)

    @contextlib.contextmanager
    def while_starting(self, directory: Path, application_id: str) -> Iterator[None]:
        """Reserve a checkpoint for what follows, which claims it; if that fails, others may have it."""
        had = directory in self._directories
        self.reserve(directory, application_id)
        try:
            yield
        except BaseException:
            if not had:
                self._give_back(directory)
            raise
        # From here on it goes with the claim: of the same id, the next engine may have it when this one closes.
        self._directories.discard(directory)

    def give_back(self) -> None:
        """End all that were not claimed."""
        for directory in list(self._directories):
            self._give_back(directory)

    def _give_back(self, directory: Path) -> None:
        # Another engine of this process may have claimed it meanwhile: then it is in use.
        if directory in self._directories and not runs_here(directory):
            give_back(directory)
        self._directories.discard(directory)

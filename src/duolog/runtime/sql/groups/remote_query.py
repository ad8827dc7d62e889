"""A query in the process of a group."""

import contextlib
from typing import Final

from duolog.core.errors import DuologError
from duolog.engine.query.reports.progress import Progress
from duolog.runtime.sql.groups.frames import Message
from duolog.runtime.sql.groups.group_process import GroupProcess
from duolog.runtime.sql.groups.messages import decode_error, decode_progress

_PROGRESS_S: Final = 5.0


class RemoteQuery:
    """A started query. Threads: any."""

    def __init__(self, process: GroupProcess, query_id: str, offset: int) -> None:
        """Start it.

        Raises:
            GroupEnded: the process has ended meanwhile.
            QueryError: it does not start.
        """
        self.process = process
        asked = {"do": "start", "query": query_id, "offset": offset}
        self._run: int = process.request(asked)["run"]
        self._progress: Progress | None = None

    @property
    def state(self) -> str:
        """State as of the last beat."""
        return "failed" if self.process.has_ended else str(self._known["state"])

    @property
    def has_ended(self) -> bool:
        return self.process.has_ended or bool(self._known["ended"])

    def exception(self) -> DuologError | None:
        """Return why it has failed: an error of its own, or the end of its process."""
        known = self._known
        if known["ended"]:
            return None if known["error"] is None else decode_error(known["error"])
        return self.process.end() if self.process.has_ended else None

    def progress(self) -> Progress:
        """Return the progress; the last known one if the process does not answer in time."""
        with contextlib.suppress(DuologError, TimeoutError):
            asked = {"do": "progress", "run": self._run}
            self._progress = decode_progress(self.process.request(asked, _PROGRESS_S))
        return self._progress or Progress("micro-batch", self.state)

    def stop(self) -> None:
        """Stop it; returns once it has stopped or its process has ended."""
        if not self.has_ended:
            self.process.stop_query(self._run)

    @property
    def _known(self) -> Message:
        return self.process.state_of(self._run)

"""A query in the process of a group."""

import contextlib
import time
from typing import Final

from duolog.core.errors import DuologError
from duolog.engine.query.metrics import Metrics
from duolog.engine.query.reports.progress import Progress
from duolog.runtime.sql.groups.frames import Message
from duolog.runtime.sql.groups.group_process import GroupProcess
from duolog.runtime.sql.groups.messages import decode_error, decode_progress

_ANSWER_S: Final = 3.0
_SILENT_S: Final = 5.0
"""A process that has been silent for longer is not asked: its queries need not be waited for."""


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
        found = self._ask("progress")
        if found is not None:
            self._progress = decode_progress(found)
        return self._progress or Progress("micro-batch", self.state)

    def metrics(self) -> Metrics | None:
        """Return the metrics; None if the process does not answer in time."""
        found = self._ask("metrics")
        given = None if found is None else found["metrics"]
        return None if given is None else Metrics.from_json(given)

    def stop(self) -> None:
        """Stop it; returns once it has stopped or its process has ended."""
        if not self.has_ended:
            self.process.stop_query(self._run)

    def _ask(self, what: str) -> Message | None:
        if self.process.silent_s(time.monotonic()) > _SILENT_S:
            return None
        with contextlib.suppress(DuologError, TimeoutError):
            return self.process.request({"do": what, "run": self._run}, _ANSWER_S)
        return None

    @property
    def _known(self) -> Message:
        return self.process.state_of(self._run)

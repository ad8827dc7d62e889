"""List the applications that run in processes of this user on this machine.

>>> import duolog
>>> duolog.applications()        # doctest: +SKIP
[<counts: running in real-time, lag 0, in this process>, ...]
"""

import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from duolog.runtime.metrics.local_registry import (
    ApplicationJson,
    list_applications,
    local_applications,
)

if TYPE_CHECKING:
    from duolog.engine.query.metrics import Metrics


class Started(Protocol):
    """An `Application` that was started."""

    application_id: str

    @property
    def runs(self) -> bool: ...
    def stop(self) -> None: ...


_started_here: "Final[weakref.WeakSet[Started]]" = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Listed:
    """A running application."""

    application_id: str
    state: str
    mode: str
    lag_records: int | None
    """Number of records not yet read; None if no broker answers."""
    pid: int
    application: Started | None = None
    """The application object if this process started it; its `stop()` stops it."""

    def __repr__(self) -> str:
        lag = "?" if self.lag_records is None else f"{self.lag_records:,}"
        where = "in this process" if self.pid == os.getpid() else f"process {self.pid}"
        return f"<{self.application_id}: {self.state} in {self.mode}, lag {lag}, {where}>"


def applications() -> list[Listed]:
    """Return the running applications of this user on this machine, sorted by name."""
    from duolog.engine.query.metrics import Metrics  # noqa: PLC0415 - as Application

    own = [_listed(one, os.getpid()) for one in local_applications()]
    remote = [(Metrics.from_json(_of_metrics(one)), one["pid"]) for one in list_applications()]
    others = [_listed(one, pid) for one, pid in remote if pid != os.getpid()]
    return sorted([*own, *others], key=lambda one: (one.application_id, one.pid))


def note_started(application: Started) -> None:
    """Make an application findable by its id, as long as the program holds it."""
    _started_here.add(application)


def stop_earlier(application_id: str) -> None:
    """Stop the query with this id in this process, if there is one."""
    from duolog.engine.query.query_registry import running_queries  # noqa: PLC0415 - as above

    for application in list(_started_here):
        if application.application_id == application_id:
            application.stop()
    for query in running_queries():
        if query.application_id == application_id:
            query.stop()


def _listed(metrics: "Metrics", pid: int) -> Listed:
    here = (
        one
        for one in list(_started_here)
        if one.application_id == metrics.application_id and one.runs
    )
    application = next(here, None) if pid == os.getpid() else None
    name, state, mode = metrics.application_id, metrics.state, metrics.mode
    return Listed(name, state, mode, metrics.lag_records, pid, application)


def _of_metrics(remote: ApplicationJson) -> dict[str, object]:
    return {name: value for name, value in remote.items() if name != "pid"}

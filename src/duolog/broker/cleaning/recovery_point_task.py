"""Keeps the next start after a crash short, by recovery points set in time.

Once a second, and more often while there is much to do, the logs are asked how much of them no
recovery point covers; see `duolog.log.recovery.recovery_backlog`. The group commit's thread sets
the points.
"""

from typing import TYPE_CHECKING, Final

from duolog.log.recovery.recovery_backlog import logs_to_save

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.log.group_commit import GroupCommit
    from duolog.log.log_manager import LogManager

_LOOK_SECONDS: Final = 1.0
_BUSY_SECONDS: Final = 0.1


class RecoveryPoints:
    """The timer that sets recovery points early."""

    def __init__(
        self,
        timers: "Timers",
        log_manager: "LogManager",
        group_commit: "GroupCommit",
        bytes_max: int,
    ) -> None:
        self._timers = timers
        self._log_manager = log_manager
        self._group_commit = group_commit
        self._bytes_max = bytes_max

    def start(self) -> None:
        """Look for the first time in a second; what a start has read is saved then, too."""
        self._timers.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if self._group_commit.failed is not None:
            return  # The log directory is offline for good.
        seconds = _LOOK_SECONDS
        try:
            chosen = logs_to_save(self._log_manager.logs, self._bytes_max)
            if chosen:
                seconds = _BUSY_SECONDS
            self._group_commit.request_points(chosen)
        finally:  # Whatever happens to one look, there is a next one.
            self._timers.call_later(seconds, self._look)

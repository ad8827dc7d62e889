"""The state of the log directory: writable or offline.

One object is shared by all logs of a data directory and by the group commit. The first failed
write or sync takes the directory offline for good: after a failed fsync the kernel may have
dropped the pages, so a second fsync that succeeds proves nothing (see "fsyncgate", 2018).

A closed or deleted log must not count as a failed sync, or one DeleteTopics request would take the
whole directory offline.
"""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from duolog.log.errors import LogDirOffline

logger = logging.getLogger(__name__)


class DirHealth:
    """Holds the error that took the log directory offline, if any. Any thread may fail it."""

    def __init__(self) -> None:
        self.error: LogDirOffline | None = None

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Take the directory offline if a disk operation in the block fails.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        if self.error is not None:
            raise self.error
        try:
            yield
        except OSError as cause:
            raise self.fail(cause, doing) from cause

    def fail(self, cause: Exception, doing: str) -> LogDirOffline:
        """Take the directory offline; returns the error to raise or to answer with."""
        if self.error is None:
            why = getattr(cause, "strerror", None) or str(cause)
            full = getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
            self.error = LogDirOffline(
                f"log directory went offline while {doing}: {why.lower()}",
                detail=str(cause),
                full=full,
            )
            logger.error(
                "log directory went offline",
                extra={"doing": doing, "hint": self.error.hint},
                exc_info=cause,
            )
        return self.error

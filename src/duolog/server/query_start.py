"""Starts the persistent queries of a service in the background, after others have ended.

Only one process runs the queries of a service. A server that is not the first tries again, so that
it takes over when the other one has ended.

Threads: `begin` and `end` in one thread; the start runs on its own.
"""

import logging
import threading
from typing import TYPE_CHECKING, Final

from duolog.core.errors import DuologError
from duolog.runtime.sql.errors import ServiceInUse

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

logger = logging.getLogger(__name__)

RETRY_S: Final = 5.0
_END_S: Final = 5.0


class QueryStart:
    """The start of the queries of one service."""

    def __init__(self, sql: "SqlService", retry_s: float = RETRY_S) -> None:
        self._sql = sql
        self._retry_s = retry_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="query-start", daemon=True)

    def begin(self) -> None:
        """Start the queries, without waiting for them."""
        self._thread.start()

    def end(self) -> None:
        """Give up a start that is not complete; `SqlService.close` comes next."""
        self._ending.set()
        if self._thread.ident is not None:
            self._sql.give_up()
            self._thread.join(_END_S)

    def _run(self) -> None:
        told = ""
        while not self._ending.is_set():
            try:
                self._sql.start()
            except ServiceInUse as error:
                if told != error.message:
                    logger.info("another process runs the queries", extra={"reason": error.message})
                told = error.message
            except DuologError as error:
                if self._ending.is_set():
                    return
                logger.warning("queries do not start", extra={"reason": error.one_line()})
            else:
                return
            self._ending.wait(self._retry_s)

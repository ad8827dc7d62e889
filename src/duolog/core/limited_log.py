"""Log lines that any client can cause: the first of each kind are written, the others counted.

    refused a connection client=192.0.2.7:4242 reason="too many connections"        10 times
    further lines were not written line="refused a connection" lines=20831          after 10 s

Without a limit, a client that is refused again and again fills the disk with lines. A kind is the
text of a line at its level, without its fields: clients choose some of them. Lines below INFO are
not limited, because operators turn them on to see everything.

Threads: one, the event loop of the server.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

PERIOD_S: Final = 10.0
LINES_MAX: Final = 10
"""Lines of a kind in a period: at most 20 MB in a day."""

CallLater = Callable[[float, Callable[[], None]], object]
"""Calls a function after a number of seconds, on the same thread."""


class _Kind(NamedTuple):
    logger: logging.Logger
    level: int
    line: str


class LimitedLog:
    """Counts the lines of a server by kind.

    Args:
        call_later: used to report the lines that were not written, at the end of a period.
        monotonic: the time in seconds.
    """

    def __init__(self, call_later: CallLater, monotonic: Callable[[], float]) -> None:
        self._call_later = call_later
        self._monotonic = monotonic
        self._periods: dict[_Kind, tuple[float, int]] = {}
        """The begin of the last period of each kind, and its lines, with those not written."""

    def log(
        self,
        logger: logging.Logger,
        level: int,
        line: str,
        fields: Mapping[str, object],
        *,
        exc_info: BaseException | bool = False,
    ) -> None:
        """Write a line with its fields, or count it."""
        if not logger.isEnabledFor(level):
            return
        if level < logging.INFO or self._counts_as_one_of_few(_Kind(logger, level, line)):
            logger.log(level, line, extra=dict(fields), exc_info=exc_info)

    def _counts_as_one_of_few(self, kind: _Kind) -> bool:
        now = self._monotonic()
        begun, lines = self._periods.get(kind, (now, 0))
        if now - begun >= PERIOD_S and lines <= LINES_MAX:  # Others are reported first.
            begun, lines = now, 0
        lines += 1
        self._periods[kind] = begun, lines
        if lines == LINES_MAX + 1:
            self._call_later(max(0.0, begun + PERIOD_S - now), lambda: self._end_period(kind))
        return lines <= LINES_MAX

    def _end_period(self, kind: _Kind) -> None:
        _, lines = self._periods.pop(kind)
        kind.logger.log(
            kind.level,
            "further lines were not written",
            extra={"line": kind.line, "lines": lines - LINES_MAX, "seconds": PERIOD_S},
        )

"""Lines about progress: rewritten in place on a terminal, written to a pipe when something has changed."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import click

from duolog.core.printable import for_stream

_UP_AND_CLEAR = "\x1b[{}A\r\x1b[J"


class ProgressLines:
    """Writes lines about progress to a stream, each block in place of the one before.

    In place means on a terminal, and if nothing else has been written there since: then the cursor still stands below the
    block. Elsewhere only lines that the last block did not have are written.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._last: tuple[str, ...] = ()
        self._writes_then: int | None = None

    def changed(self, lines: Sequence[str]) -> list[str]:
        """Return the lines that the last block did not have, and take these for the last block."""
        before, self._last = self._last, tuple(lines)
        return [line for line in lines if line not in before]

    def show(self, lines: Sequence[str]) -> None:
        """Write a block."""
        stream = self._stream or sys.stderr
        height = len(self._last)
        changed = self.changed(lines)
        if not stream.isatty():
            for line in changed:
                click.echo(line, file=stream)
            return
        if height and self._writes_then is not None and _writes(stream) == self._writes_then:
            stream.write(_UP_AND_CLEAR.format(height))
        width = shutil.get_terminal_size().columns - 1
        for line in lines:
            click.echo(_fitted(for_stream(line, stream), width), file=stream)
        stream.flush()
        self._writes_then = _writes(stream)


class CountedStream:
    """A stream that counts what is written to it, and to others that share `count`."""

    def __init__(self, stream: TextIO, count: list[int]) -> None:
        self._stream = stream
        self.count = count

    def write(self, text: str) -> int:
        self.count[0] += 1
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:  # as the stream has it
        return getattr(self._stream, name)


@contextmanager
def counted_streams() -> Iterator[None]:
    """Count what is written to standard output and standard error, if they are terminals, until the block ends.

    Without it a block of `ProgressLines` is never written in place of another: whatever a topology prints could stand in
    between.
    """
    count = [0]
    with ExitStack() as undo:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and stream.isatty():
                setattr(sys, name, CountedStream(stream, count))
                undo.callback(setattr, sys, name, stream)
        yield


def _writes(stream: object) -> int | None:
    """Return how often something was written; None if nobody counts."""
    return stream.count[0] if isinstance(stream, CountedStream) else None


def _fitted(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"

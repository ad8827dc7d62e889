"""Lines about progress: rewritten in place on a terminal, written to a pipe when something has changed."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import click

from duolog.cli.terminal.display_width import cells, fitting
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
        self._shown: list[str] = []
        """The last block as it was written to a terminal."""
        self._writes_then: int | None = None

    def changed(self, lines: Sequence[str]) -> list[str]:
        """Return the lines that the last block did not have, and take these for the last block."""
        before, self._last = self._last, tuple(lines)
        return [line for line in lines if line not in before]

    def show(self, lines: Sequence[str]) -> None:
        """Write a block."""
        stream = self._stream or sys.stderr
        changed = self.changed(lines)
        if not stream.isatty():
            for line in changed:
                click.echo(line, file=stream)
            return
        columns = shutil.get_terminal_size().columns
        if self._shown and self._writes_then is not None and _writes(stream) == self._writes_then:
            # A terminal that has been made narrower has folded the lines.
            height = sum(max(1, -(-cells(line) // columns)) for line in self._shown)
            stream.write(_UP_AND_CLEAR.format(height))
        self._shown = [_fitted(for_stream(line, stream), columns - 1) for line in lines]
        for line in self._shown:
            click.echo(line, file=stream)
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
    """Return a line that takes one row of at most `width` places."""
    line = " ".join(line.split()) if {"\n", "\t"} & set(line) else line
    return line if cells(line) <= width else line[: fitting(line, max(1, width - 1))] + "…"

"""Progress lines: rewritten in place on a terminal, appended on change elsewhere."""

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
    """Writes blocks of progress lines to a stream, each replacing the previous one.

    A block is replaced only on a terminal, and only if nothing else was written there since, so
    that the cursor is still below the block. Otherwise only lines that the previous block did not
    contain are written.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._last: tuple[str, ...] = ()
        self._shown: list[str] = []
        """The last block as written to a terminal."""
        self._writes_then: int | None = None

    def changed(self, lines: Sequence[str]) -> list[str]:
        """Store `lines` as the last block; return those that the previous block did not contain."""
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
            # If the terminal has become narrower, it has wrapped the lines.
            height = sum(max(1, -(-cells(line) // columns)) for line in self._shown)
            stream.write(_UP_AND_CLEAR.format(height))
        self._shown = [_fitted(for_stream(line, stream), columns - 1) for line in lines]
        for line in self._shown:
            click.echo(line, file=stream)
        stream.flush()
        self._writes_then = _writes(stream)


class CountedStream:
    """A stream that counts its writes in `count`, which several streams can share."""

    def __init__(self, stream: TextIO, count: list[int]) -> None:
        self._stream = stream
        self.count = count

    def write(self, text: str) -> int:
        self.count[0] += 1
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:  # forwards to the stream
        return getattr(self._stream, name)


@contextmanager
def counted_streams() -> Iterator[None]:
    """Count writes to standard output and standard error if they are terminals.

    Without the counts, `ProgressLines` never replaces a block, because a topology may have printed
    something since.
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
    """Return the number of writes; None if the stream does not count them."""
    return stream.count[0] if isinstance(stream, CountedStream) else None


def _fitted(line: str, width: int) -> str:
    """Return a line truncated to one row of at most `width` columns."""
    line = " ".join(line.split()) if {"\n", "\t"} & set(line) else line
    return line if cells(line) <= width else line[: fitting(line, max(1, width - 1))] + "…"

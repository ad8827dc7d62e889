"""Progress lines as they appear on a terminal."""

import io
import re
import sys

import pytest

from duolog.cli.terminal.progress_lines import ProgressLines, counted_streams


class Terminal(io.StringIO):
    """Standard output or standard error of a terminal; both write to one screen."""

    def __init__(self, written: list[str]) -> None:
        super().__init__()
        self._written = written

    def write(self, text: str) -> int:
        self._written.append(text)
        return len(text)

    def isatty(self) -> bool:
        return True


@pytest.fixture
def written() -> list[str]:
    return []


def on_terminal(monkeypatch: pytest.MonkeyPatch, written: list[str]) -> None:
    monkeypatch.setattr("sys.stdout", Terminal(written))
    monkeypatch.setattr("sys.stderr", Terminal(written))
    monkeypatch.setenv("COLUMNS", "20")


def screen(written: list[str]) -> list[str]:
    """Return the content of the screen: `ESC [ n A` moves up n lines, and `ESC [ J` clears from there on."""
    lines: list[str] = []
    for part in re.split(r"(\x1b\[\d+A\r\x1b\[J)", "".join(written)):
        if up := re.match(r"\x1b\[(\d+)A", part):
            del lines[-int(up[1]) :]
        else:
            lines += part.splitlines()
    return lines


def test_a_block_takes_the_place_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch, written: list[str]
) -> None:
    on_terminal(monkeypatch, written)

    with counted_streams():
        lines = ProgressLines()
        sys.stderr.write("started\n")
        for block in (["a 1", "b 1"], ["a 2"], ["a 2"], ["a 3", "b 3"]):
            lines.show(block)

    assert screen(written) == ["started", "a 3", "b 3"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_concurrent_writes_are_never_overwritten(
    monkeypatch: pytest.MonkeyPatch, written: list[str], stream: str
) -> None:
    on_terminal(monkeypatch, written)

    with counted_streams():
        lines = ProgressLines()
        lines.show(["a 1"])
        getattr(sys, stream).write("printed\n")
        lines.show(["a 2"])
        lines.show(["a 3"])

    assert screen(written) == ["a 1", "printed", "a 3"]


def test_a_line_that_is_wider_than_the_terminal_is_cut(
    monkeypatch: pytest.MonkeyPatch, written: list[str]
) -> None:
    on_terminal(monkeypatch, written)

    with counted_streams():
        ProgressLines().show(["x" * 30])

    assert screen(written) == ["x" * 18 + "…"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("東" * 30, "東" * 9 + "…"),
        ("東" * 9, "東" * 9),
        ("no topic\nhint:\tcreate it", "no topic hint: cre…"),
        ("é" * 19, "é" * 19),
    ],
)
def test_a_line_takes_one_row_whatever_is_in_it(
    monkeypatch: pytest.MonkeyPatch, written: list[str], line: str, shown: str
) -> None:
    """Characters of double width, and line ends, took more rows than were cleared: parts of old lines stayed."""
    on_terminal(monkeypatch, written)

    with counted_streams():
        lines = ProgressLines()
        lines.show([line])
        first = screen(written)
        lines.show(["a"])

    assert first == [shown]
    assert screen(written) == ["a"]


def test_a_terminal_that_was_made_narrower_is_cleared_whole(
    monkeypatch: pytest.MonkeyPatch, written: list[str]
) -> None:
    on_terminal(monkeypatch, written)

    with counted_streams():
        lines = ProgressLines()
        lines.show(["x" * 15, "y" * 10, ""])
        monkeypatch.setenv("COLUMNS", "10")
        lines.show(["a"])

    assert "\x1b[4A\r\x1b[J" in written, "2 rows, 1 row and an empty one"


def test_lines_without_counters_are_not_overwritten(
    monkeypatch: pytest.MonkeyPatch, written: list[str]
) -> None:
    on_terminal(monkeypatch, written)
    lines = ProgressLines()

    lines.show(["a 1"])
    lines.show(["a 2"])

    assert screen(written) == ["a 1", "a 2"]


def test_a_pipe_gets_the_lines_that_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)

    with counted_streams():
        lines = ProgressLines()
        for block in (["a 1", "b 1"], ["a 1", "b 2"], ["a 1", "b 2"]):
            lines.show(block)

    assert pipe.getvalue().splitlines() == ["a 1", "b 1", "b 2"]


def test_the_streams_are_as_before_after_the_block(
    monkeypatch: pytest.MonkeyPatch, written: list[str]
) -> None:
    on_terminal(monkeypatch, written)
    before = (sys.stdout, sys.stderr)

    with counted_streams():
        assert sys.stdout.isatty()
        assert sys.stdout is not before[0]

    assert (sys.stdout, sys.stderr) == before

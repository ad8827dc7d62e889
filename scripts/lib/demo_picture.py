"""Record `scripts/demo` in a terminal, and write it as an animated SVG: `demo_picture.py FILE`.

    scripts/demo ─▶ pseudo-terminal ─▶ terminal emulator ─▶ a frame every half second ─▶ SVG

The picture is a time lapse of half a minute: it shows every eighth frame until the tables appear
and every second frame after that, each for a third of a second. The last frame stays for five
seconds before the animation starts again. Each distinct line of text is written once and used by
all frames that show it, so the file stays small. CSS alone moves the picture, so it also plays
where a page may not run scripts, as in a README.
"""

import os
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import pyte
from pyte.screens import Char

ROOT: Final = Path(__file__).parents[2]
COLUMNS, LINES = 104, 26
FRAME_S: Final = 0.5
SHOWN_S: Final = 0.33
EVERY_AT_START, EVERY = 8, 2
TABLES_FROM_LINES: Final = 12
LAST_S: Final = 5.0
TIMEOUT_S: Final = 600
CHAR_WIDTH, LINE_HEIGHT, MARGIN = 7.83, 17, 14
COLOURS: Final = {
    "default": "#d8dee9",
    "black": "#4c566a",
    "red": "#bf616a",
    "green": "#a3be8c",
    "brown": "#ebcb8b",
    "blue": "#81a1c1",
    "magenta": "#b48ead",
    "cyan": "#88c0d0",
    "white": "#eceff4",
}
STYLE: Final = """\
rect{fill:#20242c}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d8dee9}
.b{font-weight:bold}.d{opacity:.65}
.f{visibility:hidden}"""

Line = tuple[tuple[str, str], ...]
"""Runs of text with the attributes of an SVG element."""


class Frame(NamedTuple):
    """Content of the terminal from a point in time."""

    at_s: float
    lines: tuple[Line, ...]


def record(command: list[str]) -> list[Frame]:
    """Run a command in a terminal until it ends; return a frame for each change."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    parent, child = os.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    frames: list[Frame] = []
    started = time.monotonic()
    with subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, env=environment, cwd=ROOT
    ) as process:
        os.close(child)
        for data in _read(parent):
            stream.feed(data)
            now = time.monotonic() - started
            if now > TIMEOUT_S:
                process.kill()
                raise TimeoutError(f"{command} did not end within {TIMEOUT_S} s")
            if not frames or now - frames[-1].at_s >= FRAME_S:
                _add(frames, Frame(now, _lines(screen)))
        if process.wait() != 0:
            raise RuntimeError(f"{command} ended with status {process.returncode}")
    _add(frames, Frame(time.monotonic() - started, _lines(screen)))
    return frames


def _add(frames: list[Frame], frame: Frame) -> None:
    if not frames or frames[-1].lines != frame.lines:
        frames.append(frame)


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        select.select([terminal], [], [], FRAME_S)
        try:
            data = os.read(terminal, 65536)
        except OSError:  # The process has closed its end: EIO on Linux.
            return
        if not data:
            return
        yield data


def _lines(screen: pyte.Screen) -> tuple[Line, ...]:
    return tuple(_line(screen.buffer[number]) for number in range(LINES))


def _line(cells: dict[int, Char]) -> Line:
    runs = groupby((cells[column] for column in range(COLUMNS)), key=_attributes)
    found = [("".join(cell.data for cell in run), attributes) for attributes, run in runs]
    while found and not found[-1][0].strip():
        found.pop()
    return tuple(found)


def _attributes(cell: Char) -> str:
    colour = COLOURS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else COLOURS["default"])
    bold = ' class="b"' if cell.bold else ""
    return f'{bold} fill="{colour}"' if colour != COLOURS["default"] else bold


def time_lapse(frames: list[Frame]) -> list[Frame]:
    """Return the frames that the picture shows; the last one is among them."""
    starting = sum(sum(map(bool, frame.lines)) < TABLES_FROM_LINES for frame in frames)
    shown = frames[:starting:EVERY_AT_START] + frames[starting::EVERY]
    return shown if shown[-1] is frames[-1] else [*shown, frames[-1]]


def svg(frames: list[Frame]) -> str:
    """Return the frames as an animated SVG."""
    seconds = [SHOWN_S] * (len(frames) - 1) + [LAST_S]
    total = sum(seconds)
    lines = {line: f"l{number}" for number, line in enumerate(_distinct(frames))}
    width, height = COLUMNS * CHAR_WIDTH + 2 * MARGIN, LINES * LINE_HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}">',
        "<title>scripts/demo in a terminal</title>",
        f"<style>{STYLE}",
        *_animations(seconds, total),
        '</style><rect width="100%" height="100%" rx="8"/><defs>',
        *(f'<text id="{name}">{_spans(line)}</text>' for line, name in lines.items()),
        "</defs>",
    ]
    for number, frame in enumerate(frames):
        uses = "".join(
            f'<use href="#{lines[line]}" x="{MARGIN}" y="{MARGIN + (row + 1) * LINE_HEIGHT - 4}"/>'
            for row, line in enumerate(frame.lines)
            if line
        )
        parts.append(f'<g class="f" id="f{number}">{uses}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _distinct(frames: list[Frame]) -> dict[Line, None]:
    return {line: None for frame in frames for line in frame.lines if line}


def _animations(seconds: list[float], total: float) -> Iterator[str]:
    start = 0.0
    for number, length in enumerate(seconds):
        first, last = start / total * 100, (start + length) / total * 100
        yield f"#f{number}{{animation:k{number} {total:.1f}s step-end infinite}}"
        before = "" if number == 0 else "0%{visibility:hidden}"
        yield (
            f"@keyframes k{number}{{{before}{first:.2f}%{{visibility:visible}}"
            f"{last:.2f}%{{visibility:hidden}}}}"
        )
        start += length


def _spans(line: Line) -> str:
    return "".join(
        f"<tspan{attributes}>{escape(text)}</tspan>" if attributes else escape(text)
        for text, attributes in line
    )


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as data:
        demo = ["scripts/demo", "--data", data, *sys.argv[2:]]
        frames = time_lapse(record(demo))
    picture = Path(sys.argv[1])
    picture.write_text(svg(frames), encoding="utf-8")
    print(f"{picture}: {len(frames)} frames, {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

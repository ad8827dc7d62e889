"""Run statements and print their results, for the shell, a pipe, `-e` and RUN SCRIPT."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import click

from duolog.cli.signals import end_in_order_on_signals
from duolog.cli.sql.answer_formats import write
from duolog.core.errors import DuologError, EncodingError, StatementError
from duolog.core.text_files import read_text_file
from duolog.ksql.editor.statement_ends import ends_of

if TYPE_CHECKING:
    from duolog.runtime.sql.answers import Answer

_RUN_SCRIPT: Final = re.compile(r"\s*RUN\s+SCRIPT\s+'((?:[^']|'')*)'\s*;", re.IGNORECASE)
_DEPTH_MAX: Final = 16


class Executes(Protocol):
    """Runs statements; implemented by the engine."""

    def execute(self, text: str) -> Iterator["Answer"]:
        """Run statements and yield their results."""


class Failed(Exception):
    """Statements have failed; contains the error and their text and file, to show the position."""

    def __init__(self, error: DuologError, text: str, file: str) -> None:
        super().__init__(str(error))
        self.error = error
        self.text = text
        self.file = file


@dataclass(slots=True)
class View:
    """Display settings for results."""

    form: str = "table"
    timing: bool = False
    folds: bool = True
    """Whether a table wraps values that do not fit into the terminal."""


class ScriptRunner:
    """Runs texts of statements on an engine, which is requested when the first one is run."""

    def __init__(self, engine: Callable[[], Executes], view: View) -> None:
        self._engine = engine
        self.view = view

    def run(self, text: str, *, file: str = "", depth: int = 0) -> None:
        """Run the statements of a text and print their results.

        Raises:
            Failed: a statement cannot be parsed or executed.
            OSError: a script cannot be read.
        """
        for script, part in _parts(text):
            if script is None:
                self._run(part, file)
            elif depth == _DEPTH_MAX:
                raise Failed(
                    StatementError(
                        f'script "{script}" runs itself, directly or through other scripts'
                    ),
                    text,
                    file,
                )
            else:
                # Relative to the script that runs it; in a shell, to the working directory.
                path = Path(file).parent / script
                self.run(_script(path, text, file), file=str(path), depth=depth + 1)

    def _run(self, text: str, file: str) -> None:
        started = time.monotonic()
        try:
            for answer in self._engine().execute(text):
                # The statement may have started Spark, which installs its own handlers.
                end_in_order_on_signals()
                write(answer, self.view.form, titled=True, folds=self.view.folds)
        except DuologError as error:
            raise Failed(error, text, file) from error
        except RecursionError as error:
            deep = StatementError(
                "a result is nested too deeply to be printed",
                hint="Select some of its fields, or read the topic with `duolog consume`.",
            )
            raise Failed(deep, text, file) from error
        if self.view.timing:
            click.echo(f"Time: {(time.monotonic() - started) * 1000:.1f} ms", err=True)


def _script(path: Path, text: str, file: str) -> str:
    """Return the text of a script that `text` in `file` runs."""
    try:
        return read_text_file(path)
    except EncodingError as error:
        raise Failed(error, text, file) from error


def _parts(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield the scripts that a text runs, and the statements between them at their lines."""
    start = begin = 0
    for end in ends_of(text):
        found = _RUN_SCRIPT.match(text, begin, end)
        if found:
            if text[start:begin].strip():
                yield None, "\n" * text.count("\n", 0, start) + text[start:begin]
            yield found[1].replace("''", "'"), ""
            start = end
        begin = end
    if text[start:].strip():
        yield None, "\n" * text.count("\n", 0, start) + text[start:]

r"""Run statements and shell commands; in a terminal, continue after an error.

SHOW STREAMS;         statements, executed when their ; is read
\output json          set the output format
\timing               show execution times
\h  \q                help, quit
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import click

from duolog.cli.errors import exit_status
from duolog.cli.sql.answer_formats import FORMS
from duolog.cli.sql.error_report import report_error
from duolog.cli.sql.script_runner import Failed, ScriptRunner

HELP: Final = r"""A statement ends with ; and can span several lines.
  CREATE STREAM s (id INT KEY, name STRING)
    WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
  INSERT INTO s (id, name) VALUES (1, 'bob');
  SELECT * FROM s EMIT CHANGES;      until Ctrl-C, or LIMIT n
  SHOW STREAMS | TABLES | QUERIES | TOPICS | FUNCTIONS | TYPES | PROPERTIES | VARIABLES;
  DESCRIBE name;  DESCRIBE FUNCTION name;  EXPLAIN query_id;  RUN SCRIPT 'file.sql';

  \output table|json|csv|vertical    set the output format
  \timing                            show the execution time
  \clear                             clear the screen
  \h                                 show this help
  \q                                 quit, as does Ctrl-D
Tab completes. Ctrl-C stops the running query."""

_SAME: Final = {
    "help": "\\h",
    "exit": "\\q",
    "quit": "\\q",
    "output": "\\output",
    "timing": "\\timing",
    "clear": "\\clear",
}
"""Names of the same commands in ksqlDB's shell and others, without a backslash."""


class ShellClosed(Exception):
    """The user has quit the shell."""


class Shell:
    """Runs statements and shell commands.

    Args:
        running: runs the statements.
        names: returns the existing names, for hints.
    """

    def __init__(self, running: ScriptRunner, names: Callable[[], Iterable[str]]) -> None:
        self._running = running
        self._names = names

    def run_interactively(self, texts: Iterator[str]) -> int:
        """Run the texts typed in a terminal; return the exit status."""
        for text in texts:
            try:
                self.run(text)
            except ShellClosed:
                break
            except KeyboardInterrupt:
                click.echo("\nended", err=True)
            except Failed as failed:
                self.report(failed)
            except (OSError, click.ClickException) as error:
                report_error(error, text)
        return 0

    def run_batch(self, texts: Iterable[str], *, file: str = "") -> int:
        """Run texts up to the first failure; return the exit status."""
        for text in texts:
            try:
                self.run(text, file=file)
            except ShellClosed:
                break
            except Failed as failed:
                self.report(failed)
                return exit_status(failed.error) or 1
        return 0

    def run(self, text: str, *, file: str = "") -> None:
        """Run statements or a shell command.

        Raises:
            Left: the command was \\q.
            Failed: a statement failed.
            click.UsageError: the command is unknown.
        """
        words = text.strip().rstrip(";").split()
        first = words[0].lower() if words else ""
        first = _SAME.get(first, first)
        if [word.upper() for word in words[:2]] == ["SET", "CLI"]:
            self._set_cli(words[2:])
        elif first.startswith("\\"):
            self._own(first, words[1:])
        elif words:
            self._running.run(text, file=file)

    def report(self, failed: Failed) -> None:
        """Print the error of a failed text to standard error."""
        report_error(failed.error, failed.text, file=failed.file, names=self._names())

    def _set_cli(self, rest: list[str]) -> None:
        """Handle SET CLI of ksqlDB's shell, which sets whether wide values are wrapped."""
        match [one.strip("'").upper() for one in rest]:
            case ["WRAP", ("ON" | "OFF") as wanted]:
                self._running.view.folds = wanted == "ON"
                click.echo(f"wrap is {wanted.lower()}", err=True)
            case _:
                raise click.UsageError(
                    "Use SET CLI WRAP ON or SET CLI WRAP OFF. To set a property, use SET "
                    "'name' = 'value';"
                )

    def _own(self, word: str, rest: list[str]) -> None:
        view = self._running.view
        match word, [one.lower() for one in rest]:
            case "\\q", []:
                raise ShellClosed
            case "\\h" | "\\?", _:
                click.echo(HELP)
            case "\\clear", []:
                click.clear()
            case "\\timing", ([] | ["on"] | ["off"]) as wanted:
                view.timing = wanted == ["on"] or (not wanted and not view.timing)
                click.echo(f"timing is {'on' if view.timing else 'off'}", err=True)
            case "\\output", []:
                click.echo(f"output is {view.form}", err=True)
            case "\\output", [form] if form in FORMS or form == "tabular":
                view.form = "table" if form == "tabular" else form
            case "\\output", _:
                raise click.UsageError(f"Use \\output with one of {', '.join(FORMS)}.")
            case _:
                raise click.UsageError(
                    f"Unknown command {' '.join([word, *rest])}. Use \\h for help."
                )

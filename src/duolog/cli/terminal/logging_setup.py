"""Log output of long-running commands on standard error, as plain lines or JSON.

    {"time": "2026-11-21T04:30:00.123Z", "level": "INFO", "logger": "cli", "message": "micro-batch,
     running: …", "application": "sales", "records_in": 20011}

With JSON, log records of Duolog's Python modules (level info and above) are written in the same
format, and so is the engine's log. Output of the JVM before its logging is configured is not
converted. Format and application id are global to the process.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import click

from duolog.broker.log_format import JsonFormatter, log_to_stderr
from duolog.cli.terminal.command_again import remember
from duolog.core.printable import for_stream, json_safe

Command = TypeVar("Command", bound=Callable[..., object])

FORMS: Final = ("text", "json")
_ASKS: Final = "--log-format=json"
_logger: Final = logging.getLogger("duolog.cli")
_handler: logging.Handler | None = None
_asked = False
_application = ""


def log_format_option(command: Command) -> Command:
    """Add `--log-format` to a command, without passing it as a parameter."""
    return click.option(
        "--log-format",
        type=click.Choice(FORMS),
        default="text",
        show_default=True,
        expose_value=False,
        callback=_set_form,
        # Must take effect before other options log anything.
        is_eager=True,
        help="Format of standard error and of the engine's log. json: one object per line.",
    )(command)


def configure(argv: Sequence[str]) -> None:
    """Choose the format from the raw arguments, so that usage errors are written in it, too."""
    global _asked  # noqa: PLW0603 - one format per process
    pairs = zip(argv, [*argv[1:], ""], strict=False)
    _asked = any(_ASKS in {f"{one}={other}", one} for one, other in pairs)


def emits_json() -> bool:
    """Return whether lines are written as JSON objects."""
    return _asked or _handler is not None


def engine_settings() -> dict[str, str]:
    """Return the engine settings that select the same format."""
    return {"logging.format": "json"} if emits_json() else {}


def emit(message: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Write a line. The fields appear only in JSON, so a message contains all facts."""
    if _handler is not None:
        _logger.log(level, "%s", message.strip(), extra=fields)
    elif emits_json():
        place = (_logger.name, level, "", 0, message.strip(), (), None)
        record = _logger.makeRecord(*place, extra=fields)
        click.echo(json_safe(JsonFormatter().format(record)), err=True)
    else:
        click.echo(for_stream(message, sys.stderr), err=True)


def set_application(application: str) -> None:
    """Add this application id to all further JSON lines."""
    global _application  # noqa: PLW0603 - one application per process
    _application = application


def _set_form(context: click.Context, param: click.Parameter, form: str) -> None:
    global _handler  # noqa: PLW0603 - one format per process
    if context.resilient_parsing:
        return
    remember(context, param, form)
    _hush_py4j()
    if form == "text":
        _pass_on_notes(context)
    if form != "json" or _handler is not None:
        return
    _handler = log_to_stderr("json")
    _handler.addFilter(_with_application)
    # py4j adds a handler to a root logger without one, and would print each record again as text.
    logging.getLogger("duolog").propagate = False
    logging.getLogger().addHandler(_handler)


def _pass_on_notes(context: click.Context) -> None:
    """Print log records of the JVM's shutdown, which outlasts the command, as plain lines."""
    logger = logging.getLogger("duolog.engine.jvm.shutdown")
    before = logger.level

    def undo() -> None:
        logger.removeFilter(_said)
        logger.setLevel(before)

    logger.setLevel(logging.INFO)
    # A filter, not a handler: the root handler added by py4j would print the record again.
    logger.addFilter(_said)
    context.call_on_close(undo)


def _said(record: logging.LogRecord) -> bool:
    emit(record.getMessage())
    return False


def _with_application(record: logging.LogRecord) -> bool:
    if _application and not hasattr(record, "application"):
        record.application = _application
    return True


def _hush_py4j() -> None:
    """Suppress py4j's log records: tracebacks when Ctrl-C interrupts a call or the JVM has exited.

    The caller reports these events, and the tracebacks would suggest an additional problem.
    """
    # py4j uses its own logger and, in some places, the root logger.
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"

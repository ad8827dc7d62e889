"""What commands that stay say on standard error: lines for people, or with `--log-format json` an object each.

    {"time": "2026-11-21T04:30:00.123Z", "level": "INFO", "logger": "cli", "message": "micro-batch, running: …",
     "application": "sales", "records_in": 20011}

As JSON, what Python modules of Duolog log goes the same way, from info on, and the engine's log has such objects, too. What
the JVM says before its own log begins stays as it is. Form and application are those of the process.
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
    """Add `--log-format`, which needs no place among the parameters of the command."""
    return click.option(
        "--log-format",
        type=click.Choice(FORMS),
        default="text",
        show_default=True,
        expose_value=False,
        callback=_set_form,
        # Before all else that has something to say.
        is_eager=True,
        help="Format of standard error and of the engine's log. json: one object per line.",
    )(command)


def configure(argv: Sequence[str]) -> None:
    """Say already what is wrong with the words of a command in the form that they ask for."""
    global _asked  # noqa: PLW0603 - as below
    pairs = zip(argv, [*argv[1:], ""], strict=False)
    _asked = any(_ASKS in {f"{one}={other}", one} for one, other in pairs)


def emits_json() -> bool:
    """Tell whether lines are objects."""
    return _asked or _handler is not None


def engine_settings() -> dict[str, str]:
    """Return what the engine is to be told of the form."""
    return {"logging.format": "json"} if emits_json() else {}


def emit(message: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Write a line; its fields are for who reads JSON, and people find in it what they tell."""
    if _handler is not None:
        _logger.log(level, "%s", message.strip(), extra=fields)
    elif emits_json():
        place = (_logger.name, level, "", 0, message.strip(), (), None)
        record = _logger.makeRecord(*place, extra=fields)
        click.echo(json_safe(JsonFormatter().format(record)), err=True)
    else:
        click.echo(for_stream(message, sys.stderr), err=True)


def set_application(application: str) -> None:
    """Lines are of this application from here on."""
    global _application  # noqa: PLW0603 - as the form, one for the process
    _application = application


def _set_form(context: click.Context, param: click.Parameter, form: str) -> None:
    global _handler  # noqa: PLW0603 - as above
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
    # py4j gives the root a handler of its own where it has none, and would tell each line once more, as text.
    logging.getLogger("duolog").propagate = False
    logging.getLogger().addHandler(_handler)


def _pass_on_notes(context: click.Context) -> None:
    """Say as lines for people what the end of the JVM logs, from info on: what goes on after the command has ended."""
    logger = logging.getLogger("duolog.engine.java_end")
    before = logger.level

    def undo() -> None:
        logger.removeFilter(_said)
        logger.setLevel(before)

    logger.setLevel(logging.INFO)
    # Not a handler: py4j gives the root one, which would write the line once more.
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
    """Leave out what py4j logs: a traceback as an error where Ctrl-C comes in the middle of a call, or where the JVM has gone.

    Whoever has called says what is the matter; these lines, of whichever form, would have somebody look for more.
    """
    # It logs by itself, and part of it by the root.
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"

"""The command `duolog` and its way out: every error becomes an exit status here."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from duolog.cli.errors import exit_status, report
from duolog.cli.lazy_group import LazyGroup
from duolog.cli.terminal.logging_setup import configure
from duolog.cli.text.utf8 import ensure_utf8

COMMANDS: Final = {
    "broker": ("duolog.cli.commands.broker:broker", "Run a broker that Kafka clients talk to."),
    "completion": (
        "duolog.cli.commands.completion:completion",
        "Print what a shell needs to complete commands.",
    ),
    "consume": ("duolog.cli.commands.consume:consume", "Read records from a topic."),
    "demo": ("duolog.cli.demo.command:demo", "Watch a year of flights become two live tables."),
    "dump-log": (
        "duolog.cli.commands.dump_log:dump_log",
        "Show what stands in the files of a log.",
    ),
    "groups": ("duolog.cli.commands.groups:groups", "List, describe and reset consumer groups."),
    "init": ("duolog.cli.commands.init:init", "Make a small project that runs."),
    "produce": ("duolog.cli.commands.produce:produce", "Write lines as records to a topic."),
    "repartition": (
        "duolog.cli.commands.repartition:repartition",
        "Give a topology's state to another number of tasks.",
    ),
    "run": ("duolog.cli.commands.run:run", "Run the topology that a Python file defines."),
    "sql": ("duolog.cli.commands.sql:sql", "Stream in SQL, typed or from files."),
    "state": (
        "duolog.cli.commands.state:state",
        "Look at, restore and reset what applications keep.",
    ),
    "top": ("duolog.cli.commands.top:top", "Watch the applications that run here."),
    "topics": ("duolog.cli.commands.topics:topics", "List, create, describe and delete topics."),
}


@click.group(
    cls=LazyGroup,
    commands_at=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="duolog", prog_name="duolog")
def cli() -> None:
    """Streams and tables over one log.

    \b
    Examples:
      duolog demo
      duolog init shop
      duolog broker --data ./data --listen 127.0.0.1:9092
      echo 'bob:{"city": "Rome"}' | duolog produce users -K :
      duolog consume users --from-beginning --until-end -o jsonl
      duolog run totals.py --explain
      duolog sql -e "SHOW STREAMS"

    \b
    Exit status:
      0 done · 1 failed · 2 wrong usage · 3 not found · 4 not allowed · 5 unavailable or too late
      6 in conflict with what is there · 130 Ctrl-C · 141 reader went away · 143 SIGTERM
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    _open_what_is_closed()
    words = sys.argv[1:] if argv is None else argv
    configure(words)
    try:
        ensure_utf8(words, os.environ)
        status = cli.main(args=argv, prog_name="duolog", standalone_mode=False)
    except BaseException as error:
        if (code := exit_status(error)) is None:
            raise
        report(error)
        return code
    finally:
        _flush_quietly()
    return status if isinstance(status, int) else 0


def _open_what_is_closed() -> None:
    """Replace an output that the caller has closed: a file opened later must not get its descriptor."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - as above


def _flush_quietly() -> None:
    """Flush standard output now: Python would complain at exit about a reader that went away."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

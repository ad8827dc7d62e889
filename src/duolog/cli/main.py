"""Entry point of the command `duolog`; maps every error to an exit status."""

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
from duolog.core.engine_packages import engine_missing

COMMANDS: Final = {
    "acls": ("duolog.cli.commands.acls:acls", "Manage access control lists."),
    "backup": (
        "duolog.cli.commands.backup:backup",
        "Back up everything of a Duolog, while it runs.",
    ),
    "broker": ("duolog.cli.commands.broker:broker", "Run a Kafka-compatible broker."),
    "cert": (
        "duolog.cli.commands.cert:cert",
        "Make certificates for TLS: an authority, a broker, clients.",
    ),
    "completion": (
        "duolog.cli.commands.completion:completion",
        "Print a shell completion script.",
    ),
    "consume": ("duolog.cli.commands.consume:consume", "Read records from a topic."),
    "demo": ("duolog.cli.demo.command:demo", "Run the demo: flights joined and counted live."),
    "dlq": ("duolog.cli.commands.dlq:dlq", "List, show and replay dead letters."),
    "doctor": (
        "duolog.cli.commands.doctor:doctor",
        "Verify, repair and salvage a data directory.",
    ),
    "dump-log": (
        "duolog.cli.commands.dump_log:dump_log",
        "Print the contents of log files and report damage.",
    ),
    "fetch-jars": (
        "duolog.cli.commands.fetch_jars:fetch_jars",
        "Download the engine's jars, for machines without a network.",
    ),
    "groups": ("duolog.cli.commands.groups:groups", "List, describe and reset consumer groups."),
    "init": ("duolog.cli.commands.init:init", "Create a small runnable project."),
    "lineage": (
        "duolog.cli.commands.lineage:lineage",
        "Show the columns from which a SQL server computes each column.",
    ),
    "mirror": (
        "duolog.cli.commands.mirror:mirror",
        "Copy topics and groups to another Kafka cluster.",
    ),
    "produce": ("duolog.cli.commands.produce:produce", "Write lines to a topic as records."),
    "queries": (
        "duolog.cli.commands.queries:queries",
        "Show the queries of a SQL server: rates, lag, errors.",
    ),
    "quotas": (
        "duolog.cli.commands.quotas:quotas",
        "Manage quotas of users, client ids and addresses.",
    ),
    "registry": (
        "duolog.cli.commands.registry:registry",
        "Run a schema registry over a Kafka cluster.",
    ),
    "repartition": (
        "duolog.cli.commands.repartition:repartition",
        "Change the number of tasks of a topology.",
    ),
    "restore": (
        "duolog.cli.commands.restore:restore",
        "Restore a backup to a new data directory.",
    ),
    "run": ("duolog.cli.commands.run:run", "Run the topology defined in a Python file."),
    "schema": (
        "duolog.cli.commands.schema:schema",
        "Manage the schemas of a registry.",
    ),
    "server": (
        "duolog.cli.commands.server:server",
        "Run the SQL server over a Kafka cluster.",
    ),
    "sql": ("duolog.cli.commands.sql:sql", "Run SQL statements interactively or from files."),
    "start": (
        "duolog.cli.commands.start:start",
        "Run a broker, a schema registry and a SQL server.",
    ),
    "state": (
        "duolog.cli.commands.state:state",
        "Inspect, restore and reset application state.",
    ),
    "top": ("duolog.cli.commands.top:top", "Monitor the applications running on this machine."),
    "tokens": ("duolog.cli.commands.tokens:tokens", "Manage tokens that log programs in."),
    "topics": ("duolog.cli.commands.topics:topics", "List, create, describe and delete topics."),
    "users": ("duolog.cli.commands.users:users", "Manage the users of a cluster."),
}


@click.group(
    cls=LazyGroup,
    commands_at=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="duolog-broker", prog_name="duolog")
def cli() -> None:
    """Kafka-compatible stream processing for Python, on Spark.

    \b
    Examples:
      duolog demo
      duolog init shop
      duolog broker --data ./data --listen 127.0.0.1:9092 --registry 127.0.0.1:8081
      echo 'bob:{"city": "Rome"}' | duolog produce users -K :
      duolog consume users --from-beginning --until-end -o jsonl
      duolog run totals.py --explain
      duolog sql -e "SHOW STREAMS"

    \b
    Exit status:
      0 success · 1 failure · 2 usage error · 3 not found · 4 not allowed
      5 unavailable or timed out · 6 conflicts with existing state
      130 Ctrl-C · 141 output closed by its reader · 143 SIGTERM
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    _open_what_is_closed()
    words = sys.argv[1:] if argv is None else argv
    configure(words)
    try:
        ensure_utf8(words, os.environ)
        status = cli.main(args=argv, prog_name="duolog", standalone_mode=False)
    except BaseException as failure:
        error = engine_missing(failure) or failure
        if (code := exit_status(error)) is None:
            raise
        report(error)
        return code
    finally:
        _flush_quietly()
    return status if isinstance(status, int) else 0


def _open_what_is_closed() -> None:
    """Replace a closed standard stream, so that a file opened later cannot get its descriptor."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open until the process exits
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - as above


def _flush_quietly() -> None:
    """Flush standard output now; at exit, Python would report a closed pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""`duolog sql`: run ksqlDB statements from a terminal, a pipe or files."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import click

from duolog.cli.kafka.security_options import application_brokers, client_properties_options
from duolog.cli.kafka.server_option import read_servers
from duolog.cli.lazy_group import LazyGroup
from duolog.cli.options import (
    data_option,
    functions_option,
    metrics_option,
    read_assignments,
    set_option,
)
from duolog.cli.registry.options import (
    RegistryAddress,
    pass_on,
    sql_properties,
    sql_registry_options,
)
from duolog.cli.terminal.logging_setup import emit, emits_json, engine_settings, log_format_option
from duolog.core.text_files import decode_lines, read_text_file
from duolog.runtime.data_dirs import default_data_dir
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.cli.sql.engine_opening import EngineOpening
    from duolog.cli.sql.shell import Shell
    from duolog.runtime.sql.engine import SqlEngine

COMMANDS: Final = {
    "fmt": ("duolog.cli.commands.sql_files:fmt", "Format SQL files."),
    "lineage": ("duolog.cli.commands.sql_files:lineage", "Show the column lineage of a SQL file."),
    "lint": (
        "duolog.cli.commands.sql_files:lint",
        "Report errors and likely mistakes in SQL files.",
    ),
    "test": ("duolog.cli.commands.sql_files:test", "Run SQL test files without a broker."),
}
_FORMS: Final = ("table", "json", "csv", "vertical")


@click.group(cls=LazyGroup, commands_at=COMMANDS, invoke_without_command=True)
@click.option(
    "-e",
    "--execute",
    "texts",
    multiple=True,
    metavar="STATEMENTS",
    help="Run these and exit.",
)
@click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run the statements and queries of this file until Ctrl-C.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(_FORMS),
    default="table",
    show_default=True,
    help="Output format. json: one object per line.",
)
@click.option(
    "-b",
    "-B",
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
    callback=read_servers,
    envvar="DUOLOG_BOOTSTRAP_SERVERS",
    default="127.0.0.1:9092",
    show_default=True,
    show_envvar=True,
    metavar="HOST:PORT,…",
    help="Brokers for the initial connection.",
)
@client_properties_options
@click.option(
    "--service-id",
    help="Service id; each has its own streams, tables and queries.  [default: default_]",
)
@data_option("Directory for state and history.  [default: $XDG_DATA_HOME/duolog/sql]")
@sql_registry_options
@set_option("Set a property, like SET. Repeatable.")
@click.option(
    "-d",
    "--define",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Define a variable, like DEFINE. Repeatable.",
)
@functions_option
@metrics_option
@log_format_option
@click.pass_context
def sql(
    context: click.Context,
    *,
    texts: tuple[str, ...],
    path: Path | None,
    form: str,
    bootstrap_servers: str,
    client_properties: Path | None,
    profile: str | None,
    service_id: str | None,
    data_dir: Path | None,
    registry: RegistryAddress,
    assignments: tuple[str, ...],
    variables: tuple[str, ...],
    functions: tuple[str, ...],
) -> int:
    """Run ksqlDB SQL statements over the topics of a broker.

    Without -e or -f, reads statements from a terminal or a pipe; a pipe stops at the first error.

    \b
    Examples:
      duolog sql
      duolog sql -e "SHOW STREAMS" -o json
      duolog sql -f app.sql
      duolog sql -f app.sql --functions scoring
      echo "SELECT * FROM totals;" | duolog sql -o csv
      duolog sql fmt --check app.sql
      duolog sql test app_test.sql
    """
    if context.invoked_subcommand is not None:
        return 0
    if texts and path:
        raise click.UsageError("Use either -e (run statements and exit) or -f (keep running).")
    _ensure_readable(path, texts)
    # Imported late: `duolog sql fmt` does not need them.
    from duolog.cli.kafka.connection import ensure_reachable  # noqa: PLC0415
    from duolog.cli.signals import end_in_order_on_signals  # noqa: PLC0415
    from duolog.cli.sql.engine_opening import EngineOpening  # noqa: PLC0415
    from duolog.cli.sql.function_modules import modules_named  # noqa: PLC0415
    from duolog.cli.sql.script_runner import ScriptRunner, View  # noqa: PLC0415
    from duolog.cli.sql.shell import Shell  # noqa: PLC0415
    from duolog.ksql.editor.statement_ends import whole_statements  # noqa: PLC0415

    end_in_order_on_signals()
    brokers = application_brokers(bootstrap_servers, client_properties, profile)
    ensure_reachable(brokers)
    directory = data_dir or default_data_dir("sql")
    properties = sql_properties(registry, read_assignments(assignments))
    pass_on(registry)
    modules = modules_named(functions, *([path] if path is not None else []))
    first = [_defined(name, value) for name, value in read_assignments(variables).items()]
    opened = partial(_open_engine, brokers, directory, service_id, properties, modules)
    with EngineOpening(opened) as opening:
        shell = Shell(ScriptRunner(opening.engine, View(form)), opening.names)
        if path is not None:
            return shell.run_batch(first) or _run_file(opening, path, shell)
        if texts:
            return shell.run_batch([*first, *texts])
        if not sys.stdin.isatty():
            lines = decode_lines(sys.stdin.buffer, "<stdin>")
            return shell.run_batch(first) or shell.run_batch(whole_statements(lines))
        opening.begin()
        return shell.run_batch(first) or _run_interactively(opening, shell, directory)


def _open_engine(
    brokers: Brokers,
    directory: Path,
    service_id: str | None,
    properties: Mapping[str, str],
    modules: list[str],
) -> "SqlEngine":
    # Imported while the first prompt is already shown.
    from duolog.runtime.sql.engine import DEFAULT_SERVICE, SqlEngine  # noqa: PLC0415

    engine = SqlEngine(
        brokers,
        data=directory,
        service_id=service_id or DEFAULT_SERVICE,
        properties=properties,
        engine_settings=engine_settings(),
    )
    _define_functions(engine, modules)
    return engine


def _ensure_readable(path: Path | None, texts: tuple[str, ...]) -> None:
    """Ensure that there are readable statements, before any request to a broker.

    Raises:
        EncodingError: the file is not UTF-8.
    """
    if path is not None:
        read_text_file(path)
    elif not texts and sys.stdin is None:
        raise click.UsageError("Standard input is closed; use -e or -f.")


def _define_functions(engine: "SqlEngine", modules: list[str]) -> None:
    """Define the functions of modules and report them; close the engine if that fails."""
    # Imported only if modules are given, while the first prompt is already shown.
    from duolog.runtime.sql.function_modules import define_functions  # noqa: PLC0415

    try:
        for module in modules:
            for answer in define_functions(engine, module):
                emit(getattr(answer, "text", ""))
    except BaseException:
        engine.close()
        raise


def _run_interactively(opening: "EngineOpening", shell: "Shell", directory: Path) -> int:
    """Run statements from the terminal until the user quits."""
    from duolog.cli.sql.terminal import Terminal  # noqa: PLC0415 - takes 100 ms, not needed for a pipe

    click.echo("End statements with ;  \\h for help, \\q to quit.", err=True)
    status = shell.run_interactively(Terminal(directory, opening.known).texts())
    if opening.runs_queries:
        click.echo("stopping its queries; they resume with the next `duolog sql`", err=True)
    return status


def _run_file(opening: "EngineOpening", path: Path, shell: "Shell") -> int:
    """Run the queries of a file until Ctrl-C; a second Ctrl-C does not wait for them."""
    from duolog.cli.errors import exit_status  # noqa: PLC0415 - keeps other commands fast
    from duolog.cli.signals import announce_stopping, end_by_event  # noqa: PLC0415
    from duolog.cli.sql.script_runner import Failed  # noqa: PLC0415
    from duolog.cli.terminal.progress_lines import counted_streams  # noqa: PLC0415
    from duolog.ksql.errors import SqlError  # noqa: PLC0415

    try:
        with end_by_event(opening.end_now) as stop, counted_streams():
            try:
                _run(opening.engine(), path, stop)
            finally:
                if stop.is_set():
                    announce_stopping()
                opening.close()
    except SqlError as error:
        shell.report(Failed(error, read_text_file(path), str(path)))
        return exit_status(error) or 1
    return 0


def _run(engine: "SqlEngine", path: Path, stop: Event) -> None:
    """Run a script and report the progress of its queries in the selected log format."""
    from duolog.cli.terminal.progress_lines import ProgressLines  # noqa: PLC0415 - as above
    from duolog.runtime.sql.headless import run_script  # noqa: PLC0415

    lines = ProgressLines(sys.stdout)

    def say_changed(block: list[str]) -> None:
        for line in lines.changed(block):
            emit(line)

    if emits_json():
        run_script(engine, path, emit, stop=stop, report_progress=say_changed)
    else:
        run_script(engine, path, click.echo, stop=stop, report_progress=lines.show)


def _defined(name: str, value: str) -> str:
    return f"DEFINE {name} = '{value.replace(chr(39), chr(39) * 2)}';"

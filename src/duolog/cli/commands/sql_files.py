"""`duolog sql fmt`, `lint`, `lineage` and `test`: process SQL files without a broker."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from duolog.cli.options import functions_option
from duolog.core.text_files import decode_text, read_text_file

_FILES: Final = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_STDIN: Final = Path("-")

Command = TypeVar("Command", bound=Callable[..., object])


def _files(command: Command) -> Command:
    return click.argument("paths", metavar="FILE…", nargs=-1, required=True, type=_FILES)(command)


@click.command()
@_files
@click.option(
    "--check", is_flag=True, help="Change nothing; exit with status 1 if a file would change."
)
def fmt(*, paths: tuple[Path, ...], check: bool) -> int:
    """Format SQL files in place; `-` reads standard input and writes standard output.

    Changes only white space, line breaks and the case of keywords.

    \b
    Examples:
      duolog sql fmt app.sql
      duolog sql fmt --check *.sql
    """
    from duolog.cli.sql.layout import formatted  # noqa: PLC0415 - keeps `--help` fast

    status = 0
    for path in paths:
        text = _text(path)
        try:
            wanted = formatted(text)
        except _sql_error() as error:
            status = max(status, _report(error, text, path))
            continue
        if path == _STDIN and not check:
            click.echo(wanted, nl=False)
        elif wanted != text:
            click.echo(f"{'would format' if check else 'formatted'} {path}", err=True)
            if check:
                status = max(status, 1)
            else:
                path.write_text(wanted, encoding="utf-8")
    return status


@click.command()
@_files
@functions_option
def lint(*, paths: tuple[Path, ...], functions: tuple[str, ...]) -> int:
    """Report errors and likely mistakes in SQL files; exit with status 1 if there are any.

    The statements run against an empty catalog, so that names and types are checked, too. To
    suppress a warning, end its line with `-- lint: ignore RULE`.

    \b
    Examples:
      duolog sql lint app.sql
    """
    from duolog.cli.sql.function_modules import catalog_of, modules_named  # noqa: PLC0415 - as above
    from duolog.cli.sql.lint import findings_of  # noqa: PLC0415

    catalog = catalog_of(modules_named(functions, *paths))
    count = 0
    for path in paths:
        for finding in findings_of(_text(path), catalog.copy()):
            count += 1
            click.echo(finding.render("<stdin>" if path == _STDIN else str(path)))
    return 1 if count else 0


@click.command()
@click.argument("path", metavar="FILE", type=_FILES)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="text: for reading. json: for programs. svg: a diagram.",
)
@functions_option
def lineage(*, path: Path, form: str, functions: tuple[str, ...]) -> int:
    """Show the columns that each column of a stream or table is computed from, back to the topics.

    \b
    Examples:
      duolog sql lineage app.sql
      duolog sql lineage app.sql --format svg > app.svg
    """
    from duolog.cli.sql.function_modules import catalog_of, modules_named  # noqa: PLC0415 - as above
    from duolog.cli.sql.lineage import as_json, as_text, relations_of  # noqa: PLC0415

    text = _text(path)
    try:
        relations = relations_of(text, catalog_of(modules_named(functions, path)))
    except _sql_error() as error:
        return _report(error, text, path)
    if form == "svg":
        from duolog.cli.sql.picture import as_svg  # noqa: PLC0415

        click.echo(as_svg(relations), nl=False)
    elif form == "json":
        click.echo(as_json(relations))
    else:
        for line in as_text(relations):
            click.echo(line)
    return 0


@click.command()
@_files
@click.option("--only", metavar="TEXT", default="", help="Run only tests whose name contains TEXT.")
@functions_option
def test(*, paths: tuple[Path, ...], only: str, functions: tuple[str, ...]) -> int:
    """Run SQL test files: statements, input rows and ASSERTs about the output. Needs no broker.

    Each test starts with `--@test: NAME` and has its own catalog and topics. INSERT INTO … VALUES
    writes a row, which all queries process at once. ASSERT VALUES checks the next row of a stream
    or table. With `--@expected.error` and `--@expected.message` a statement of the test must fail.
    The exit status is 1 if a test fails.

    \b
    Examples:
      duolog sql test app_test.sql
    """
    from duolog.cli.sql.function_modules import catalog_of, modules_named  # noqa: PLC0415 - as above
    from duolog.testing.sql import read_tests, run_test  # noqa: PLC0415

    catalog = catalog_of(modules_named(functions, *paths))
    failed = count = 0
    for path in paths:
        for one in read_tests(_text(path), str(path)):
            if only not in one.name:
                continue
            count += 1
            outcome = run_test(one, catalog)
            failed += not outcome.passed
            click.echo(outcome.render())
    click.echo(f"{count - failed} passed, {failed} failed", err=True)
    return 1 if failed else 0


def _text(path: Path) -> str:
    if path == _STDIN and sys.stdin is None:
        raise click.UsageError("Standard input is closed; name a file.")
    if path == _STDIN:
        return decode_text(sys.stdin.buffer.read(), "<stdin>")
    return read_text_file(path)


def _sql_error() -> type[Exception]:
    """Return the class of statement errors, imported late to keep `--help` fast."""
    from duolog.ksql.errors import SqlError  # noqa: PLC0415 - as above

    return SqlError


def _report(error: Exception, text: str, path: Path) -> int:
    from duolog.cli.errors import exit_status  # noqa: PLC0415 - as above
    from duolog.cli.sql.error_report import report_error  # noqa: PLC0415

    report_error(error, text, file=str(path))
    return exit_status(error) or 1

"""`duolog schema diff`: two versions of a subject, or a file and the latest version."""

import sys
from pathlib import Path
from typing import Final, NamedTuple

import click

from duolog.cli.commands.schema_show import similar
from duolog.cli.registry.completion import complete_subjects
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_differences import Comparison, compare, text_difference
from duolog.cli.registry.schema_files import LATEST, read_schema, read_subject
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.errors import RegistryError
from duolog.core.printable import for_stream
from duolog.registry.client.admin import RegistryAdmin
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaText

COLUMNS: Final = (
    Column("path", "string", "path of the field"),
    Column("change", "string", "added, removed, changed, or unchanged but incompatible"),
    Column("old", "string | null", "type of the field in the first schema"),
    Column("new", "string | null", "type of the field in the second schema"),
    Column("backward", "string", "ok if the new schema reads old records, else the broken rules"),
    Column("forward", "string", "ok if the old schema reads new records, else the broken rules"),
)


class Side(NamedTuple):
    """One of the two schemas, with the name that the output shows."""

    name: str
    schema: SchemaText


@click.command()
@click.argument("old", metavar="SUBJECT[:VERSION]", shell_complete=complete_subjects)
@click.argument(
    "new", required=False, metavar="[SUBJECT[:VERSION]|FILE]", shell_complete=complete_subjects
)
@click.option(
    "--type",
    "language",
    type=click.Choice([one.value for one in Language], case_sensitive=False),
    help="Language of FILE. Default: by its name or content.",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="NAME=SUBJECT[:VERSION]",
    help="A schema that FILE refers to. Repeatable.",
)
@output.output_option
@registry_options
def diff(
    *,
    old: str,
    new: str | None,
    language: str | None,
    references: tuple[str, ...],
    form: str,
    registry: RegistryAddress,
) -> None:
    """Compare two schemas: their texts, and each field with its effect on readers.

    Without a second schema, compares the last two versions of the subject. FILE is compared with
    the last version, unless another one is named. Other forms of output than table contain only the
    fields.

    \b
    Examples:
      duolog schema diff orders-value
      duolog schema diff orders-value:1 orders-value:3
      duolog schema diff orders-value order.avsc -o json
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    admin = registry.admin()
    if new is None:
        first, second = _last_two(admin, old)
    elif new == "-" or Path(new).is_file():
        first = _version(admin, old)
        with refusals(f'read the schema "{new}"'):
            second = Side(new, read_schema(Path(new), language, references, admin))
    else:
        first, second = _version(admin, old), _version(admin, new)
    old_schema, new_schema = _parsed(admin, first, second)
    compared = compare(old_schema, new_schema)
    if form == "table":
        text = text_difference(old_schema, new_schema, (first.name, second.name))
        return _print(first, second, compared, text)
    return output.write_rows([one._asdict() for one in compared.differences], COLUMNS, form)


def _version(admin: RegistryAdmin, target: str) -> Side:
    subject, number = read_subject(target)
    with refusals(f'compare subject "{target}"', similar(admin, subject)):
        found = admin.version(subject, number or LATEST)
    return Side(f"{subject}:{found.version}", found.schema)


def _last_two(admin: RegistryAdmin, target: str) -> tuple[Side, Side]:
    subject, number = read_subject(target)
    with refusals(f'compare subject "{target}"', similar(admin, subject)):
        numbers = admin.numbers(subject)
    if number and number != LATEST:
        numbers = [one for one in numbers if one <= int(number)]
    if len(numbers) < 2:
        raise click.UsageError(
            f'Subject "{subject}" has no version before this one. Name a second version or a file.'
        )
    return _version(admin, f"{subject}:{numbers[-2]}"), _version(admin, f"{subject}:{numbers[-1]}")


def _parsed(admin: RegistryAdmin, first: Side, second: Side) -> tuple[Schema, Schema]:
    if first.schema.language != second.schema.language:
        raise click.UsageError(
            f"Cannot compare {first.name}, which is {first.schema.language.value}, with "
            f"{second.name}, which is {second.schema.language.value}."
        )
    with refusals("resolve the references of a schema"):
        old = admin.resolved(first.schema)
        try:
            new = admin.resolved(second.schema)
        except RegistryError as error:
            if getattr(error, "code", None) is not None:
                raise
            raise click.UsageError(
                f'"{second.name}" is not a schema in {second.schema.language.value}: '
                f"{error.one_line()}"
            ) from error
    return old, new


def _print(first: Side, second: Side, compared: Comparison, text: str) -> None:
    if text:
        click.echo(for_stream(text))
    if compared.differences:
        click.echo()
        output.write_rows([one._asdict() for one in compared.differences], COLUMNS, "table")
    for reasons, reader, writer in (
        (compared.backward, second.name, first.name),
        (compared.forward, first.name, second.name),
    ):
        verb = "cannot read" if reasons else "reads"
        told = f"a reader with {reader} {verb} the records of {writer}"
        click.echo(for_stream(told, sys.stderr), err=True)

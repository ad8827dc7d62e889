"""`duolog schema show`: a schema by its subject, id or GUID."""

import sys
from collections.abc import Callable, Iterator
from typing import Final

import click

from duolog.cli.kafka.topics import like
from duolog.cli.registry.completion import complete_subjects
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_files import LATEST, read_subject
from duolog.cli.registry.shown import pretty, reference_object, schema_object, version_object
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.errors import DuologError
from duolog.core.printable import for_stream
from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.answers import fields_of
from duolog.registry.json_text import Json
from duolog.schemas.schema import Reference
from duolog.schemas.source import SchemaText

COLUMNS: Final = (
    Column("subject", "string | null", "name of the subject; null with --id and --guid"),
    Column("version", "int | null", "number of the version; null with --id and --guid"),
    Column("id", "int | null", "id of the schema; null with --guid"),
    Column("guid", "string | null", "GUID of the schema; null if the registry has none"),
    Column("deleted", "boolean", "whether the version is soft-deleted"),
    Column("compatibility", "string | null", "level that holds for new versions of the subject"),
    Column("type", "string", "language of the schema: AVRO, JSON or PROTOBUF"),
    Column("schema", "string", "text of the schema, as registered"),
    Column("references", "array", "name, subject and version; with --references also the schema"),
    Column("subjects", "array", "subjects and versions that have the id; with --id"),
)
_UNKNOWN_SUBJECT: Final = 40401


@click.command()
@click.argument(
    "target", required=False, metavar="[SUBJECT[:VERSION]]", shell_complete=complete_subjects
)
@click.option(
    "--id", "schema_id", type=click.IntRange(1, 2**31 - 1), help="Show the schema of an id."
)
@click.option("--guid", help="Show the schema of a GUID.")
@click.option("--references", is_flag=True, help="Also show the schemas that it refers to.")
@click.option("--raw", is_flag=True, help="Print the text exactly as it is registered.")
@click.option("--deleted", is_flag=True, help="Also find soft-deleted versions.")
@output.output_option
@registry_options
def show(
    *,
    target: str | None,
    schema_id: int | None,
    guid: str | None,
    references: bool,
    raw: bool,
    deleted: bool,
    form: str,
    registry: RegistryAddress,
) -> None:
    """Print a schema: the last version of a subject, another version, or a schema by its id.

    Standard output contains only the schema; its version and id are printed to standard error.

    \b
    Examples:
      duolog schema show orders-value
      duolog schema show orders-value:2 > order.avsc
      duolog schema show --id 7 -o json
      duolog schema show --guid 3f1c0a4e-6d0f-5a43-9d47-0f6a4c1a2b3c
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    if sum(given is not None for given in (target, schema_id, guid)) != 1:
        raise click.UsageError("Name one SUBJECT, or use --id or --guid.")
    admin = registry.admin()
    if target is not None:
        schema, found = _of_subject(admin, target, deleted=deleted)
    elif schema_id is not None:
        schema, found = _of_id(admin, schema_id, deleted=deleted)
    else:
        schema, found = _of_guid(admin, guid or "")
    parts = list(_referenced(admin, schema.references)) if references else []
    if form == "table":
        return _print(schema, found, parts, raw=raw)
    if references:
        found["references"] = [
            {**reference_object(one), **schema_object(text)} for one, text in parts
        ]
    row = {column.name: found.get(column.name) for column in COLUMNS} | found
    return output.write_rows([row], COLUMNS, form)


def _of_subject(
    admin: RegistryAdmin, target: str, *, deleted: bool
) -> tuple[SchemaText, dict[str, Json]]:
    subject, number = read_subject(target)
    with refusals(f'show subject "{target}"', similar(admin, subject)):
        version = admin.version(subject, number or LATEST, deleted=deleted)
        level = admin.config(subject, default=True) or {}
    return version.schema, version_object(version, str(level.get("compatibilityLevel", "")))


def _of_id(
    admin: RegistryAdmin, schema_id: int, *, deleted: bool
) -> tuple[SchemaText, dict[str, Json]]:
    with refusals(f"show the schema of id {schema_id}"):
        schema, guid = admin.by_id(schema_id)
        subjects: list[Json] = [
            {"subject": subject, "version": version}
            for subject, version in admin.versions_of_id(schema_id, deleted=deleted)
        ]
    found: dict[str, Json] = {"id": schema_id, "guid": guid or None, "subjects": subjects}
    return schema, {**found, **schema_object(schema)}


def _of_guid(admin: RegistryAdmin, guid: str) -> tuple[SchemaText, dict[str, Json]]:
    with refusals(f'show the schema of GUID "{guid}"'):
        schema = admin.by_guid(guid)
    return schema, {"guid": guid, **schema_object(schema)}


def similar(admin: RegistryAdmin, subject: str) -> Callable[[int], str]:
    """Return the hints for a subject that may be misspelled."""

    def hint(code: int) -> str:
        if code != _UNKNOWN_SUBJECT:
            return ""
        try:
            known = admin.subjects()
        except DuologError:
            return ""
        return f"{like(subject, known)}List the subjects with `duolog schema list`."

    return hint


def _referenced(
    admin: RegistryAdmin, references: tuple[Reference, ...]
) -> Iterator[tuple[Reference, SchemaText]]:
    """Yield the schemas that a schema refers to, directly or through others, each once."""
    waiting = list(references)
    seen: set[Reference] = set()
    while waiting:
        reference = waiting.pop(0)
        if reference in seen:
            continue
        seen.add(reference)
        with refusals(f'show the referenced schema "{reference.name}"'):
            found = admin.referenced(reference)
        yield reference, found
        waiting += found.references


def _print(
    schema: SchemaText,
    found: dict[str, Json],
    parts: list[tuple[Reference, SchemaText]],
    *,
    raw: bool,
) -> None:
    facts = {
        name: found.get(name)
        for name in ("subject", "version", "id", "guid", "type", "compatibility")
    }
    told = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
    click.echo(for_stream(told, sys.stderr), err=True)
    for one in schema.references:
        told = f'refers to "{one.name}": subject "{one.subject}", version {one.version}'
        click.echo(for_stream(told, sys.stderr), err=True)
    subjects = found.get("subjects")
    for pair in map(fields_of, subjects if isinstance(subjects, list) else []):
        told = f'subject "{pair["subject"]}", version {pair["version"]}'
        click.echo(for_stream(told, sys.stderr), err=True)
    click.echo(for_stream(schema.text if raw else pretty(schema)))
    for one, text in parts:
        click.echo(for_stream(f'"{one.name}":', sys.stderr), err=True)
        click.echo(for_stream(text.text if raw else pretty(text)))

"""`duolog schema register` and `check`: a schema of a file, and a subject."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final

import click

from duolog.cli.errors import CONFLICT
from duolog.cli.registry.completion import complete_subjects
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_files import read_schema
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.errors import RegistryError
from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.incompatibilities import incompatibilities
from duolog.registry.client.requests import Refused
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText

REGISTER_COLUMNS: Final = (
    Column("subject", "string", "name of the subject"),
    Column("version", "int", "number of the version that has the schema"),
    Column("id", "int", "id of the schema"),
    Column("type", "string", "language of the schema: AVRO, JSON or PROTOBUF"),
    Column("new", "boolean", "whether the version was added by this command"),
    Column("guid", "string | null", "GUID of the schema; not shown in tables"),
)
CHECK_COLUMNS: Final = (
    Column("type", "string | null", "rule that is broken, as the registry names it"),
    Column("path", "string | null", "place in the schema"),
    Column("description", "string", "the registry's explanation"),
)
_INCOMPATIBLE: Final = 409


def schema_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add FILE, its language and its references, passed to the command as `read`."""

    @click.argument(
        "path",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    )
    @click.option(
        "-s",
        "--subject",
        required=True,
        shell_complete=complete_subjects,
        help="Name of the subject. Values of a topic have TOPIC-value, keys TOPIC-key.",
    )
    @click.option(
        "--type",
        "language",
        type=click.Choice([one.value for one in Language], case_sensitive=False),
        help="Language of the schema. Default: by the name or the content of FILE.",
    )
    @click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=SUBJECT[:VERSION]",
        help="A schema that FILE refers to by NAME: a type of Avro, a $ref, or an import of "
        "Protobuf. Repeatable.",
    )
    @wraps(command)
    def with_schema(
        *,
        path: Path,
        language: str | None,
        references: tuple[str, ...],
        **options: object,
    ) -> object:
        def read(admin: RegistryAdmin) -> SchemaText:
            return read_schema(path, language and language.upper(), references, admin)

        return command(read=read, **options)

    return with_schema


Read = Callable[[RegistryAdmin], SchemaText]
normalize_option: Final = click.option(
    "--normalize", is_flag=True, help="Ignore differences without meaning, such as order."
)


@click.command()
@schema_options
@normalize_option
@output.output_option
@registry_options
def register(
    *, read: Read, subject: str, normalize: bool, form: str, registry: RegistryAddress
) -> None:
    """Register the schema in FILE as a version of a subject. `-` reads standard input.

    A schema that the subject has already gets no new version.

    \b
    Examples:
      duolog schema register order.avsc --subject orders-value
      duolog schema register order.proto --subject orders-value \\
          --reference customer.proto=customers-value:1
      duolog schema show orders-value | duolog schema register - --subject copies-value
    """
    if form == "help":
        return click.echo(output.help_text(REGISTER_COLUMNS), nl=False)
    admin = registry.admin()
    with refusals(f'register a schema for subject "{subject}"'):
        schema = read(admin)
        before = admin.look_up(subject, schema, normalize=normalize)
        schema_id = _registered(admin, subject, schema, normalize=normalize)
        found = before or admin.look_up(subject, schema, normalize=normalize)
    assert found is not None, subject
    row = {
        "subject": subject,
        "version": found.version,
        "id": schema_id,
        "type": schema.language.value,
        "new": before is None,
        "guid": found.guid or None,
    }
    hidden = {"guid"} if form == "table" else set()
    columns = [column for column in REGISTER_COLUMNS if column.name not in hidden]
    return output.write_rows([row], columns, form)


@click.command()
@schema_options
@normalize_option
@click.option(
    "--against",
    metavar="VERSION",
    default="",
    help="Compare with this version or with latest. Default: with the versions that the "
    "compatibility level of the subject names.",
)
@output.output_option
@registry_options
def check(
    *,
    read: Read,
    subject: str,
    normalize: bool,
    against: str,
    form: str,
    registry: RegistryAddress,
) -> int:
    """Report why a subject does not accept the schema in FILE.

    Nothing is registered. The exit status is 0 if the schema is compatible, and 6 if it is not.

    \b
    Examples:
      duolog schema check order.avsc --subject orders-value
      duolog schema check order.avsc --subject orders-value --against 1 -o json
    """
    if form == "help":
        click.echo(output.help_text(CHECK_COLUMNS), nl=False)
        return 0
    admin = registry.admin()
    with refusals(f'check a schema against subject "{subject}"'):
        schema = read(admin)
        _ensure_valid(admin, schema)
        messages = admin.check(subject, schema, against, normalize=normalize)
        level = (admin.config(subject, default=True) or {}).get("compatibilityLevel", "")
        is_new = not messages and subject not in admin.subjects(subject)
    found = incompatibilities(messages)
    if found or form != "table":
        output.write_rows([one._asdict() for one in found], CHECK_COLUMNS, form)
    verdict = "is not compatible" if found else "is compatible"
    told = f'the schema {verdict} with subject "{subject}" (level {level})'
    if is_new:
        told = f'subject "{subject}" has no versions, and accepts every valid schema'
    click.echo(told, err=True)
    return CONFLICT if found else 0


def _ensure_valid(admin: RegistryAdmin, schema: SchemaText) -> None:
    """Refuse an invalid schema: a registry accepts any text for a subject without versions.

    Raises:
        RegistryError: the schema is invalid.
    """
    try:
        admin.resolved(schema)
    except RegistryError as error:
        if getattr(error, "code", None) is not None:
            raise
        raise click.UsageError(
            f"The file is not a schema in {schema.language.value}: {error.one_line()}"
        ) from error


def _registered(admin: RegistryAdmin, subject: str, schema: SchemaText, *, normalize: bool) -> int:
    """Return the id of a schema that is registered; explain why one is incompatible.

    Raises:
        Refused: the registry refuses the schema.
    """
    try:
        return admin.register(subject, schema, normalize=normalize)
    except Refused as error:
        if error.code != _INCOMPATIBLE:
            raise
        found = incompatibilities(admin.check(subject, schema, normalize=normalize))
        why = "; ".join(f"{one.type or ''} {one.description}".strip() for one in found)
        raise Refused(why or error.message, error.code) from error

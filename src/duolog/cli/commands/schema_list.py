"""`duolog schema list`: the subjects of a registry."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Final

import click

from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column, Row
from duolog.registry.client.admin import Registered, RegistryAdmin

COLUMNS: Final = (
    Column("subject", "string", "name of the subject"),
    Column("versions", "array", "numbers of its versions"),
    Column("id", "int", "id of the last version's schema"),
    Column("type", "string", "language of the schema: AVRO, JSON or PROTOBUF"),
    Column("compatibility", "string", "level that holds for new versions"),
    Column("deleted", "array", "the soft-deleted versions; in tables only with --deleted"),
)
_ASKING: Final = 8


@click.command("list")
@click.argument("prefix", default="", metavar="[PREFIX]")
@click.option("--deleted", is_flag=True, help="Include soft-deleted subjects and versions.")
@output.output_option
@registry_options
def list_subjects(*, prefix: str, deleted: bool, form: str, registry: RegistryAddress) -> None:
    """List subjects by name, or those whose names start with PREFIX.

    \b
    Examples:
      duolog schema list
      duolog schema list orders -o json
      duolog schema list --deleted
    """
    if form == "help":
        return click.echo(output.help_text(COLUMNS), nl=False)
    admin = registry.admin()
    with refusals("list the subjects"):
        found = _by_subject(admin.versions(prefix or ":*:", deleted=deleted))
        levels = _levels(admin, found)
    rows = [_row(subject, found[subject], levels[subject]) for subject in sorted(found)]
    hidden = {"deleted"} if form == "table" and not deleted else set()
    columns = [column for column in COLUMNS if column.name not in hidden]
    return output.write_rows(rows, columns, form)


def _by_subject(versions: Iterable[Registered]) -> dict[str, list[Registered]]:
    ordered = sorted(versions, key=lambda one: (one.subject, one.version))
    return {subject: list(own) for subject, own in groupby(ordered, lambda one: one.subject)}


def _levels(admin: RegistryAdmin, subjects: Iterable[str]) -> dict[str, str]:
    """Return the compatibility level of each subject; the registry has no list of them."""
    names = list(subjects)
    with ThreadPoolExecutor(_ASKING) as pool:
        levels = pool.map(lambda name: admin.config(name, default=True) or {}, names)
    return {
        name: str(level.get("compatibilityLevel", ""))
        for name, level in zip(names, levels, strict=True)
    }


def _row(subject: str, versions: list[Registered], level: str) -> Row:
    last = versions[-1]
    return {
        "subject": subject,
        "versions": [one.version for one in versions],
        "id": last.schema_id,
        "type": last.schema.language.value,
        "compatibility": level,
        "deleted": [one.version for one in versions if one.deleted],
    }

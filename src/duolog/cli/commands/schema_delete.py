"""`duolog schema delete`: delete subjects or single versions."""

import click

from duolog.cli.commands.schema_show import similar
from duolog.cli.kafka.topics import confirm
from duolog.cli.registry.completion import complete_subjects
from duolog.cli.registry.options import RegistryAddress, registry_options
from duolog.cli.registry.refusals import refusals
from duolog.cli.registry.schema_files import LATEST, SubjectVersion, read_subject
from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.client.requests import Refused


@click.command()
@click.argument(
    "targets",
    nargs=-1,
    required=True,
    metavar="SUBJECT[:VERSION]…",
    shell_complete=complete_subjects,
)
@click.option(
    "--permanent",
    is_flag=True,
    help="Delete for ever. Records with the ids can no longer be decoded.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; delete nothing.")
@registry_options
def delete(
    *,
    targets: tuple[str, ...],
    permanent: bool,
    yes: bool,
    dry_run: bool,
    registry: RegistryAddress,
) -> None:
    """Delete subjects with all versions, or single versions.

    A deleted version is no longer listed, but its id still finds the schema: old records can be
    decoded. With --permanent, the schema is gone unless another subject has it.

    \b
    Examples:
      duolog schema delete orders-value:1
      duolog schema delete orders-value --yes
      duolog schema delete orders-value --permanent --dry-run
    """
    admin = registry.admin()
    named = [read_subject(target) for target in targets]
    wanted = [_existing(admin, one, deleted=permanent) for one in named]
    how = "permanently " if permanent else ""
    told = "; ".join(map(_told, named, wanted))
    if dry_run:
        click.echo(f"would {how}delete {told}", err=True)
        return
    if not yes:
        confirm(f"{'Permanently delete' if permanent else 'Delete'} {told}?")
    for one, numbers in zip(named, wanted, strict=True):
        _delete(admin, one, numbers, permanent=permanent)
        click.echo(f"{how}deleted {_told(one, numbers)}", err=True)


def _told(one: SubjectVersion, numbers: list[int]) -> str:
    versions = "version" if len(numbers) == 1 else "versions"
    return f'{versions} {", ".join(map(str, numbers))} of subject "{one.subject}"'


def _existing(admin: RegistryAdmin, one: SubjectVersion, *, deleted: bool) -> list[int]:
    """Return the versions that a user names; with `deleted`, also those that are soft-deleted."""
    with refusals(f'delete subject "{one.subject}"', similar(admin, one.subject)):
        if not one.version:
            return admin.numbers(one.subject, deleted=deleted)
        number = one.version
        if number == LATEST:
            return [admin.version(one.subject).version]
        return [admin.version(one.subject, number, deleted=deleted).version]


def _delete(
    admin: RegistryAdmin, one: SubjectVersion, numbers: list[int], *, permanent: bool
) -> None:
    version = str(numbers[0]) if one.version else ""
    part = f"version {version} of " if version else ""
    with refusals(f'delete {part}subject "{one.subject}"'):
        if not permanent:
            admin.delete(one.subject, version)
            return
        # A version must be soft-deleted before it can be deleted for ever.
        alive = set(_alive(admin, one.subject))
        if alive & set(numbers):
            admin.delete(one.subject, version)
        admin.delete(one.subject, version, permanent=True)


def _alive(admin: RegistryAdmin, subject: str) -> list[int]:
    try:
        return admin.numbers(subject)
    except Refused as error:
        if error.code // 100 == 404:
            return []
        raise

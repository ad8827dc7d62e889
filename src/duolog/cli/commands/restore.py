"""`duolog restore`: write a backup to a new data directory."""

from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import click

from duolog.cli.backup.ahead import applications_ahead
from duolog.cli.commands.backup import BACKUP_COLUMNS, applications_of, list_backups
from duolog.cli.terminal import output
from duolog.core.counts import counted
from duolog.log.backup.manifest import Manifest
from duolog.log.backup.packs import PackReader
from duolog.log.backup.repository import Repository
from duolog.log.backup.restoring import restore as restore_to
from duolog.log.doctor.overlay import ReadOnlyDisk
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import RealDisk

_SHOWN_MAX: Final = 3


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="New data directory; empty or missing.",
)
@click.option("--backup", "number", metavar="N", type=int, help="Number of the backup [the last].")
@click.option("--new-cluster-id", is_flag=True, help="Do not keep the id of the cluster.")
@click.option("--no-applications", is_flag=True, help="Leave out the checkpoints.")
@click.option("--list", "listing", is_flag=True, help="List the backups in DIR.")
@output.output_option
def restore(
    *,
    directory: Path,
    data: Path | None,
    number: int | None,
    new_cluster_id: bool,
    no_applications: bool,
    listing: bool,
    form: str,
) -> int:
    """Restore a backup in DIR to the new data directory DATA.

    The machine and the path may be others than before. Every byte is verified. A damaged backup is
    refused, and so is one in which a checkpoint is ahead of its topics. If a restore is
    interrupted, run the command again: it starts over.

    The restored cluster keeps its id, so that clients and registries recognize it. Never let both
    run in one network; --new-cluster-id makes a copy that can, for example to try a restore.

    \b
    Examples:
      duolog restore /mnt/backups/shop --list
      duolog restore /mnt/backups/shop --data ./data
      duolog restore /mnt/backups/shop --backup 3 --data ./trial --new-cluster-id
    """
    if form == "help":
        click.echo(output.help_text(BACKUP_COLUMNS), nl=False)
        return 0
    if listing:
        return list_backups(directory, form)
    if data is None:
        raise click.UsageError("name the new data directory: --data DATA")
    repository = Repository(ReadOnlyDisk(), str(directory))
    manifest = repository.read(number)
    if no_applications:
        kept = {path: copy for path, copy in manifest.files.items() if "checkpoints/" not in path}
        manifest = replace(manifest, files=kept)
    _ensure_not_ahead(manifest, repository)
    restore_to(repository, manifest, RealDisk(), str(data.absolute()), new_cluster=new_cluster_id)
    click.echo(
        f"{data}: restored backup {manifest.number}: "
        f"{counted(len(manifest.cut.topics), 'topic')}, "
        f"{counted(len(manifest.partitions), 'partition')} with records, "
        f"{counted(len(applications_of(manifest)), 'application')}",
        err=True,
    )
    return 0


def _ensure_not_ahead(manifest: Manifest, repository: Repository) -> None:
    """Refuse a backup in which a checkpoint is ahead of its topics.

    Raises:
        BackupRefused: one is.
        BackupDamaged: bytes of the backup are missing or changed.
    """
    with closing(PackReader(repository.disk, repository.directory)) as reader:
        found = list(islice(applications_ahead(manifest, reader), _SHOWN_MAX))
    if found:
        raise BackupRefused(
            f"in backup {manifest.number}, checkpoints are ahead of their topics",
            detail="; ".join(str(one) for one in found) + ".",
            hint="Restore another backup, or use --no-applications: the applications then begin "
            "without their state.",
        )

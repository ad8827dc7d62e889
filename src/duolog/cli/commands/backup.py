"""`duolog backup`: copy everything of a Duolog to a directory of backups, while it runs."""

import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from duolog.cli.backup.ahead import applications_ahead
from duolog.cli.backup.checkpoint_scan import find_applications
from duolog.cli.backup.taking import taken
from duolog.cli.errors import FAILED
from duolog.cli.terminal import output
from duolog.cli.terminal.output import Column
from duolog.core.counts import counted
from duolog.core.errors import DuologError
from duolog.core.operating_system.processes import is_own
from duolog.log.backup.manifest import Manifest
from duolog.log.backup.packs import PackReader
from duolog.log.backup.repository import Repository, Session, create_repository
from duolog.log.backup.restoring import verify
from duolog.log.backup.writing import Writing, read_settings
from duolog.log.doctor.overlay import ReadOnlyDisk
from duolog.log.errors import BackupRefused, DataDirRefused
from duolog.log.files.disk import RealDisk

BACKUP_COLUMNS: Final = (
    Column("backup", "int", "number of the backup"),
    Column("created_at", "string", "moment of the cut, in UTC"),
    Column("topics", "int", "number of topics"),
    Column("partitions", "int", "partitions that have or had records"),
    Column("applications", "int", "checkpoints of applications"),
    Column("size_bytes", "int", "bytes that a restore writes, without small files"),
    Column("problem", "string", "why it cannot be restored; empty if nothing is known"),
)
PROBLEM_COLUMNS: Final = (
    Column("backup", "int", "number of the backup"),
    Column("problem", "string", "damage that was found"),
)
_REPORT_S: Final = 5.0


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Data directory of `duolog broker`, `run` or `start` to back up.",
)
@click.option("--full", is_flag=True, help="Copy everything, also what an earlier backup has.")
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=1),
    help="Afterwards, remove all but the newest N backups.",
)
@click.option("--list", "listing", is_flag=True, help="List the backups in DIR.")
@click.option("--verify", "verifying", is_flag=True, help="Read all backups in DIR, find damage.")
@output.output_option
def backup(
    *,
    directory: Path,
    data: Path | None,
    full: bool,
    keep: int | None,
    listing: bool,
    verifying: bool,
    form: str,
) -> int:
    """Back up topics, groups, users, schemas, SQL and checkpoints to DIR.

    The broker and applications can keep running. All files are of one moment: no checkpoint is
    ahead of its topics, and no transaction is half in the backup. Each record batch is verified
    while it is copied.

    DIR is on another disk, if possible. The first backup needs an empty or missing directory. Later
    ones write what has changed. If a backup is interrupted, run the command again: it continues.
    Only the user of the broker can back it up. DIR contains all records and the credentials of all
    users; only that user can read it.

    \b
    Exit status:
      0 the backup is complete, or nothing is damaged · 1 failed, or damage was found

    \b
    Examples:
      duolog backup /mnt/backups/shop --data ./data
      duolog backup /mnt/backups/shop --data ./data --keep 7
      duolog backup /mnt/backups/shop --list
      duolog backup /mnt/backups/shop --verify
    """
    if form == "help":
        columns = PROBLEM_COLUMNS if verifying else BACKUP_COLUMNS
        click.echo(output.help_text(columns), nl=False)
        return 0
    if (listing or verifying) and (data is not None or full or keep is not None):
        raise click.UsageError("--list and --verify take no other options but -o")
    if listing:
        return list_backups(directory, form)
    if verifying:
        return _verify(directory, form)
    if data is None:
        raise click.UsageError("name the data directory to back up: --data DATA")
    _back_up(directory, data, full=full, keep=keep)
    return 0


def list_backups(directory: Path, form: str) -> int:
    """Write a row for each complete backup; return the exit status."""
    repository = Repository(ReadOnlyDisk(), str(directory))
    rows: list[dict[str, object]] = []
    for number in repository.numbers():
        try:
            rows.append(_row(repository.read(number)))
        except DuologError as error:
            rows.append({"backup": number, "problem": error.one_line()})
    columns = [column.name for column in BACKUP_COLUMNS]
    filled = [{name: row.get(name) for name in columns} for row in rows]
    output.write_rows(filled, BACKUP_COLUMNS, form)
    if repository.interrupted:
        click.echo("a further backup was interrupted: `duolog backup` continues it", err=True)
    return FAILED if any("problem" in row for row in rows) else 0


def _row(manifest: Manifest) -> dict[str, object]:
    created = datetime.fromtimestamp(manifest.created_ms // 1000, UTC)
    return {
        "backup": manifest.number,
        "created_at": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "topics": len(manifest.cut.topics),
        "partitions": len(manifest.partitions),
        "applications": len(applications_of(manifest)),
        "size_bytes": manifest.size_bytes,
    }


def applications_of(manifest: Manifest) -> set[str]:
    """Return the paths of the checkpoints in a backup, from its data directory."""
    found = (path.partition("checkpoints/") for path in manifest.files)
    return {f"{home}checkpoints/{rest.partition('/')[0]}" for home, _, rest in found if rest}


def _verify(directory: Path, form: str) -> int:
    repository = Repository(ReadOnlyDisk(), str(directory))
    numbers = repository.numbers()
    if not numbers:
        repository.read()  # It has none: the error says so.
    rows: list[dict[str, object]] = [
        {"backup": number, "problem": found.problem}
        for found in verify(repository)
        for number in found.backups
    ]
    damaged = {row["backup"] for row in rows}
    for number in (number for number in numbers if number not in damaged):
        with closing(PackReader(repository.disk, str(directory))) as reader:
            found = applications_ahead(repository.read(number), reader)
            rows += ({"backup": number, "problem": str(ahead)} for ahead in found)
    if rows or form != "table":
        output.write_rows(rows, PROBLEM_COLUMNS, form)
    summary = counted(len(rows), "problem") if rows else "nothing is wrong"
    click.echo(f"{directory}: verified {counted(len(numbers), 'backup')}; {summary}", err=True)
    if damaged:
        click.echo("hint: `duolog backup --full` copies everything again.", err=True)
    return FAILED if rows else 0


def _back_up(directory: Path, data: Path, *, full: bool, keep: int | None) -> None:
    root = data.resolve()
    broker = broker_in(root)
    _ensure_whole(root)
    _ensure_outside(directory, root)
    _ensure_own(broker)
    disk = RealDisk()
    with taken(root, broker) as files:
        repository = create_repository(disk, str(directory), files.logs.cut.cluster_id)
        with closing(Session(repository, full=full)) as session:
            writing = Writing(session, _Reporter(session).note)
            manifest = writing.run(
                files.logs,
                files.files,
                read_settings(disk, str(broker)),
                created_ms=files.created_ms,
                broker="" if broker == root else broker.name,
            )
            session.complete(manifest)
            _summarize(directory, manifest, session.written_bytes, writing.reused_bytes)
            removed = [] if keep is None else session.keep(keep)
    for name in files.logs.gone:
        click.echo(f'note: topic "{name}" was deleted meanwhile and is not in it', err=True)
    if removed:
        click.echo(f"removed {counted(len(removed), 'older backup')}", err=True)
    with closing(PackReader(disk, str(directory))) as reader:
        for ahead in applications_ahead(manifest, reader):
            click.echo(f"warning: {ahead}: its topic has lost records before", err=True)


def broker_in(root: Path) -> Path:
    """Return the broker's directory in a data directory.

    Raises:
        DataDirRefused: there is none.
    """
    for broker in (root, root / "broker"):
        if (broker / "meta.properties").exists():
            return broker
    raise DataDirRefused(
        f'directory "{root}" has no logs of a broker',
        detail="Neither it nor its directory broker has a file meta.properties.",
        hint="Name the directory that `duolog broker`, `run` or `start` uses with --data.",
    )


def _ensure_whole(root: Path) -> None:
    """Refuse the directory of the broker alone, next to which applications have checkpoints.

    Raises:
        BackupRefused: the backup would be without them.
    """
    if root.name != "broker":
        return
    left_out = find_applications(root.parent)
    if left_out:
        raise BackupRefused(
            f'directory "{root}" is only a part of a data directory',
            detail=f"{root.parent} has {counted(len(left_out), 'checkpoint')} of applications, "
            "which would not be in the backup.",
            hint=f"Give --data {root.parent}.",
        )


def _ensure_outside(directory: Path, root: Path) -> None:
    target = directory.resolve()
    if target == root or root in target.parents or target in root.parents:
        raise BackupRefused(
            f'directory "{directory}" is not outside of the data directory',
            detail=f"The data directory is {root}.",
            hint="Name a directory on another disk.",
        )


def _ensure_own(broker: Path) -> None:
    """Refuse the files of another user: root could leave files that the broker cannot open.

    Raises:
        BackupRefused: another user owns the data directory.
    """
    if not is_own((broker / "meta.properties").stat()):
        raise BackupRefused(
            f'data directory "{broker}" belongs to another user',
            detail=f"Its owner has the number {broker.stat().st_uid}.",
            hint="Run the command as the user of the broker, for example with sudo -u.",
        )


class _Reporter:
    """Reports the progress of a long backup every few seconds."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._due = time.monotonic() + _REPORT_S

    def note(self, partition: str) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _REPORT_S
            written = counted(self._session.written_bytes, "byte")
            click.echo(f"copied {written}, up to {partition}", err=True)


def _summarize(directory: Path, manifest: Manifest, written: int, reused: int) -> None:
    click.echo(
        f"{directory}: backup {manifest.number} is complete: "
        f"{counted(len(manifest.cut.topics), 'topic')}, "
        f"{counted(len(manifest.partitions), 'partition')} with records, "
        f"{counted(len(applications_of(manifest)), 'application')}; "
        f"wrote {counted(written, 'byte')}, used {counted(reused, 'byte')} of earlier backups",
        err=True,
    )

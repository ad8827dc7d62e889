"""Back up and restore directories of tests, on disks in memory."""

from collections.abc import Mapping
from typing import Final

from duolog.log.backup.manifest import Manifest
from duolog.log.backup.repository import Repository, Session, create_repository
from duolog.log.backup.restoring import restore
from duolog.log.backup.stopped_broker import rehearsed
from duolog.log.backup.writing import FileSource, Writing, read_settings
from duolog.log.files.disk import Disk
from unit.log.doctor.small_directory import DATA

DIR: Final = "/backups/duolog"
OUT: Final = "/restored/data"


def back_up(
    disk: Disk,
    into: Disk,
    files: Mapping[str, FileSource] | None = None,
    *,
    full: bool = False,
    keep: int | None = None,
) -> Manifest:
    """Back up the stopped directory of a test; return the manifest of the backup."""
    logs = rehearsed(disk, DATA)
    session = Session(create_repository(into, DIR, logs.cut.cluster_id), full=full)
    try:
        manifest = Writing(session, lambda _: None).run(
            logs, files or {}, read_settings(disk, DATA), created_ms=1, broker=""
        )
        session.complete(manifest)
        if keep is not None:
            session.keep(keep)
    finally:
        session.close()
    return manifest


def restored(
    backups: Disk, out: Disk, number: int | None = None, *, new_cluster: bool = False
) -> Manifest:
    """Restore a backup to `OUT`."""
    repository = Repository(backups, DIR)
    manifest = repository.read(number)
    restore(repository, manifest, out, OUT, new_cluster=new_cluster)
    return manifest

"""Write a backup: the logs below a cut, then files of applications, then the manifest.

Every record batch is verified while it is copied, so a backup is never made of damaged records.
Nothing counts until the manifest is written.

Thread: one.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from duolog.core.units import MIB
from duolog.log.backup.batches_below import BatchesBelow
from duolog.log.backup.copies import Copy, Identity
from duolog.log.backup.log_source import (
    LogSource,
    PartitionSource,
    SegmentSource,
    replaced_meanwhile,
)
from duolog.log.backup.manifest import Manifest, PartitionCopy, segment_key
from duolog.log.backup.repository import Session
from duolog.log.backup.stopped_broker import ensure_served
from duolog.log.errors import BackupRefused
from duolog.log.files.checked_file import read_checked
from duolog.log.files.disk import Disk, DiskFile

SETTINGS_FILES: Final = ("dynamic-configs", "client-quotas")
_READ_BYTES: Final = MIB
_PIECES_MAX: Final = 100
"""A segment that grew in that many backups is copied as a whole again: manifests stay small."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of an application, to be copied as a whole from `path`."""

    path: str
    identity: Identity | None
    content: bytes | None = None
    """The content, if it was read when the cut was taken; the file is not read then."""


class Writing:
    """One backup on its way.

    Args:
        on_partition: called after each partition, with its name.
    """

    def __init__(self, session: Session, on_partition: Callable[[str], None]) -> None:
        self._session = session
        self._on_partition = on_partition
        self.reused_bytes = 0

    def run(
        self,
        logs: LogSource,
        files: Mapping[str, FileSource],
        settings: Mapping[str, bytes],
        *,
        created_ms: int,
        broker: str,
    ) -> Manifest:
        """Copy everything; return the manifest, which is still to be completed.

        Raises:
            BackupRefused: a record batch is damaged, or a partition was not served.
            OSError: a disk refused.
        """
        ensure_served(logs.cut)
        partitions = []
        for source in logs.partitions:
            partitions.append(self._partition(logs, source))
            self._on_partition(f"{source.topic}-{source.partition}")
        copied = {key: self._file(key, source) for key, source in sorted(files.items())}
        gone = set(logs.gone)
        topics = tuple(topic for topic in logs.cut.topics if topic.entry.name not in gone)
        cut = replace(logs.cut, topics=topics)
        number = self._session.number
        return Manifest(number, created_ms, broker, cut, settings, tuple(partitions), copied)

    def _partition(self, logs: LogSource, source: PartitionSource) -> PartitionCopy:
        segments: dict[int, Copy] = {}
        next_offset: int | None = None
        # A log start is moved before segments are removed.
        first = source.segments[0].base_offset if source.segments else source.end
        if first > source.log_start:
            raise _lost(source, source.log_start, first)
        for segment in source.segments:
            joins = next_offset is None or segment.base_offset == next_offset
            if not joins and not (next_offset or 0) < segment.base_offset <= source.holes_below:
                raise _lost(source, next_offset or 0, segment.base_offset)
            copy = self._segment(logs, source, segment)
            segments[segment.base_offset] = copy
            next_offset = copy.next_offset
        if next_offset is None:  # Everything up to the cut was deleted since.
            segments = {source.end: Copy(0, (), None, source.end)}
            next_offset = source.end
        if next_offset < source.end and source.end > source.holes_below:
            raise _lost(source, next_offset, source.end)
        return PartitionCopy(
            source.topic_id,
            source.partition,
            min(source.log_start, source.end),
            min(source.holes_below, source.end),
            segments,
        )

    def _segment(self, logs: LogSource, source: PartitionSource, segment: SegmentSource) -> Copy:
        key = segment_key(source.path, segment.base_offset)
        position, next_offset = 0, segment.base_offset
        file = logs.open(segment)
        try:
            before = self._usable(key, source, segment, file)
            if before is not None:
                position, next_offset = before.size_bytes, before.next_offset
                self.reused_bytes += before.size_bytes
            batches = BatchesBelow(
                file,
                f"{source.path}/{segment.base_offset}",
                position=position,
                next_offset=next_offset,
                cut=source.end,
                holes_below=source.holes_below,
            )
            pieces = self._session.write(batches)
        finally:
            file.close()
        pieces = (*(before.pieces if before is not None else ()), *pieces)
        copy = Copy(batches.position, pieces, segment.identity, batches.next_offset)
        self._session.note(key, copy)
        return copy

    def _usable(
        self, key: str, source: PartitionSource, segment: SegmentSource, file: DiskFile
    ) -> Copy | None:
        known = self._session.known.get(key)
        if known is None or known.next_offset > source.end:
            return None
        if known.still_is(segment.identity):
            return known
        grown = (
            known.begins(segment.identity)
            and segment.base_offset >= source.holes_below
            and len(known.pieces) < _PIECES_MAX
        )
        return known if grown and _has_the_end_of(known, file) else None

    def _file(self, key: str, source: FileSource) -> Copy:
        known = self._session.known.get(key)
        if known is not None and known.still_is(source.identity):
            self.reused_bytes += known.size_bytes
            return known
        if source.content is not None:
            chunks: Iterator[bytes] = iter([source.content] if source.content else [])
        else:
            chunks = _chunks_of(source)
        pieces = self._session.write(chunks)
        copy = Copy(sum(piece.size_bytes for piece in pieces), pieces, source.identity)
        self._session.note(key, copy)
        return copy


def _has_the_end_of(copy: Copy, file: DiskFile) -> bool:
    """Return whether a segment still has the bytes of the last piece of its copy.

    A log that lost its end and grew again has other record batches there. Its file can have the
    inode and more bytes all the same: after a power failure, if acknowledged records are not
    synced; after a snapshot of the file system was rolled back; and after a restore, which creates
    its files in the same order as they were created before.
    """
    if not copy.pieces:
        return True
    digest = hashlib.sha256()
    position, end = copy.size_bytes - copy.pieces[-1].size_bytes, copy.size_bytes
    while position < end and (chunk := file.pread(position, min(_READ_BYTES, end - position))):
        digest.update(chunk)
        position += len(chunk)
    return digest.hexdigest() == copy.pieces[-1].sha256


def read_settings(disk: Disk, data_dir: str) -> dict[str, bytes]:
    """Return the broker's small files with configs and quotas.

    Raises:
        DamagedFile: one of them is damaged.
    """
    found = {name: read_checked(disk, data_dir, name) for name in SETTINGS_FILES}
    return {name: data for name, data in found.items() if data is not None}


def _chunks_of(source: FileSource) -> Iterator[bytes]:
    try:
        with open(source.path, "rb") as file:  # noqa: PTH123 - paths are texts here
            if source.identity is not None and not source.identity.is_at(source.path):
                raise replaced_meanwhile(source.path)
            while chunk := file.read(_READ_BYTES):
                yield chunk
    except FileNotFoundError:
        raise replaced_meanwhile(source.path) from None


def _lost(source: PartitionSource, first: int, following: int) -> BackupRefused:
    return BackupRefused(
        f'partition "{source.topic}-{source.partition}" has lost acknowledged records',
        detail=f"No segment has the offsets from {first} to {following - 1}.",
        hint="Stop the broker; duolog doctor DIRECTORY lists all damage. Earlier backups may have "
        "the records.",
    )

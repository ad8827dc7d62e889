"""Data that a log has written and that no group commit and no recovery point covers yet.

    written ──take_work──▶ group commit: durable, acknowledged
       └─────take_for_point──▶ recovery point: a start need not read it again

Both follow the writes, each at its own pace. If durability is left to the operating system, no work
is taken, and the recovery point syncs all of it.

What is taken is known nowhere else. So each `take_` first does all that may fail, such as to open
a file, and forgets only then: after an error everything is still there for the next call.

Threads: the broker's loop. What is taken goes to the group commit's thread.
"""

from collections.abc import Iterable

from duolog.log.checkpoints.recovery_point import IndexTail
from duolog.log.files.disk import Disk, DiskFile
from duolog.log.journal import SyncWork
from duolog.log.segments.segment import LOG_SUFFIX, Segment


class Unsynced:
    """The part of one log that is not on disk yet."""

    __slots__ = (
        "_active",
        "_directories",
        "_disk",
        "_requested",
        "_sealed",
        "_unsaved_segments",
        "unsaved_bytes",
    )

    def __init__(
        self, disk: Disk, active: Segment, unsaved_segments: list[Segment], unsaved_bytes: int
    ) -> None:
        self._disk = disk
        self._sealed: list[SyncWork] = []
        self._directories: tuple[str, ...] = ()
        self._unsaved_segments = list(unsaved_segments)
        self.unsaved_bytes = unsaved_bytes
        """Bytes that the next start would read, as no recovery point covers them."""
        self._active = active
        self._requested = active.size_bytes

    def begin(self, segment: Segment, directory: str) -> None:
        """Note that `segment` was made and is the active one, after `seal` of the last."""
        self._active = segment
        self._requested = segment.size_bytes
        self._directories = (directory, directory.rpartition("/")[0])

    def seal(self) -> None:
        """Note that the active segment will not grow any further."""
        if self._requested < self._active.size_bytes:
            self._sealed.append(self._active_work())
            self._directories = ()
            self._requested = self._active.size_bytes
        self._unsaved_segments.append(self._active)

    def is_saved(self, segment: Segment) -> bool:
        """Say whether the last recovery point that was taken covers all of a segment."""
        return segment is not self._active and segment not in self._unsaved_segments

    def forget(self, removed: list[Segment]) -> None:
        """Note that segments are gone."""
        self._unsaved_segments = [s for s in self._unsaved_segments if s not in removed]

    def has_unsaved_below(self, offset: int) -> bool:
        """Return whether no recovery point covers a sealed segment that begins below `offset`."""
        return any(
            segment.base_offset < offset and segment is not self._active
            for segment in self._unsaved_segments
        )

    def take_work(self) -> list[SyncWork]:
        """Return the writes and new files since the last call; the caller makes them durable."""
        work = [*self._sealed]
        if self._requested < self._active.size_bytes or self._directories:
            work.append(self._active_work())
            self._directories = ()
            self._requested = self._active.size_bytes
        self._sealed = []
        return work

    def _active_work(self) -> SyncWork:
        segment = self._active
        return SyncWork(
            self._disk,
            segment.path + LOG_SUFFIX,
            segment.file,
            self._requested,
            segment.size_bytes,
            self._directories,
        )

    def take_for_point(self) -> tuple[list[DiskFile], list[IndexTail]]:
        """Return the files to sync before a new recovery point, and new index entries."""
        active = self._active
        segments = [segment for segment in self._unsaved_segments if segment is not active]
        segments.append(active)
        files = [segment.file for segment in segments]
        tails = [tail for segment in segments for tail in segment.index_tails()]
        for segment in segments:
            segment.note_indexes_saved()
        self._unsaved_segments = []
        self.unsaved_bytes = 0
        # If durability is left to the operating system, these were not taken: the point syncs them
        # all.
        self._sealed = []
        self._directories = ()
        self._requested = active.size_bytes
        return files, tails


def sync_now(work: Iterable[SyncWork]) -> None:
    """Make `work` durable here and now.

    Raises:
        OSError: the disk refused; the log directory is to go offline.
    """
    for item in work:
        item.file.sync()
        for directory in item.directories:
            item.disk.sync_dir(directory)

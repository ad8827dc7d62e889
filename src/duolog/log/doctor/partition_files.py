"""Read the small files of a partition, each with its problem if it is damaged."""

from typing import Final

from duolog.log.checkpoints.cleaner_checkpoint import (
    CHECKPOINT_FILE_NAME,
    CleanerCheckpoint,
    read_checkpoint,
)
from duolog.log.checkpoints.leader_epochs import LeaderEpochs
from duolog.log.checkpoints.log_start import START_FILE_NAME, read_log_start
from duolog.log.checkpoints.recovery_point import (
    EPOCHS_FILE_NAME,
    POINT_FILE_NAME,
    RecoveryPoint,
    read_recovery_point,
)
from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import read_checked
from duolog.log.files.disk import Disk
from duolog.log.segments.segment import LOG_SUFFIX
from duolog.log.segments.segment_swap import SWAP_FILE_NAME

_NOT_WHOLE: Final = "the file is damaged"


class PartitionFiles:
    """The small files of a partition, and its segments.

    Attributes:
        segments: the base offsets, rising.
        doomed: those of segments with deleted records only; the next start removes them.
        damaged: problems of files that nothing else determines, by name.
        point: the recovery point. If its file is damaged, the start of the last segment.
        has_point: the recovery point was read from its file.
        swapping: a compaction was interrupted; the next start completes it.
    """

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        names = disk.list(directory)
        self.segments = sorted(
            int(stem)
            for name in names
            if name.endswith(LOG_SUFFIX) and (stem := name.removesuffix(LOG_SUFFIX)).isdigit()
        )
        self.damaged: dict[str, str] = {}
        self.swapping = SWAP_FILE_NAME in names
        self.log_start = self._read_log_start()
        self.doomed: list[int] = []
        while len(self.segments) > 1 and self.segments[1] <= self.log_start:
            self.doomed.append(self.segments.pop(0))
        self.point, self.point_problem = self._read_point(POINT_FILE_NAME in names)
        self.has_point = POINT_FILE_NAME in names and not self.point_problem
        self.checkpoint, self.checkpoint_problem = self._read_checkpoint()
        self.epochs, self.epochs_problem = self._read_epochs()

    def _read_log_start(self) -> int:
        try:
            return read_log_start(self._disk, self._directory)
        except DamagedFile as error:
            self.damaged[START_FILE_NAME] = f"{_NOT_WHOLE}: {error.detail}"
            return self.segments[0] if self.segments else 0

    def _read_point(self, present: bool) -> tuple[RecoveryPoint, str]:  # noqa: FBT001 - private
        point = read_recovery_point(self._disk, self._directory) if present else RecoveryPoint()
        if point is not None:
            return point, ""
        last = self.segments[-1] if self.segments else 0
        return RecoveryPoint(last, 0, last), _NOT_WHOLE

    def _read_checkpoint(self) -> tuple[CleanerCheckpoint, str]:
        try:
            return read_checkpoint(self._disk, self._directory), ""
        except DamagedFile as error:
            # Only segments before the recovery point are ever compacted.
            checkpoint = CleanerCheckpoint(0, self.point.segment)
            return checkpoint, f"{_NOT_WHOLE}: {error.detail}"

    def _read_epochs(self) -> tuple[LeaderEpochs | None, str]:
        try:
            data = read_checked(self._disk, self._directory, EPOCHS_FILE_NAME)
        except DamagedFile as error:
            return None, f"{_NOT_WHOLE}: {error.detail}"
        epochs = LeaderEpochs.decode(data) if data is not None else None
        return epochs, _NOT_WHOLE if data is not None and epochs is None else ""


SMALL_FILES: Final = frozenset(
    {START_FILE_NAME, POINT_FILE_NAME, CHECKPOINT_FILE_NAME, EPOCHS_FILE_NAME, SWAP_FILE_NAME}
)

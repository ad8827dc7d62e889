"""The leader-epoch file of a partition: the start offset of each leader epoch.

The file's content is text, Kafka's own form: a version, a count, then `epoch start_offset` on each
line; see `checked_file` for the header before it. It may lag behind the log after a crash:
recovery adds what it finds in the batches.

Source: Kafka `LeaderEpochFileCache`, `LeaderEpochCheckpointFile`.
"""

from bisect import bisect_right
from typing import Final, NamedTuple

_VERSION: Final = "0"
UNDEFINED: Final = -1


class EpochEnd(NamedTuple):
    """The answer to "where did this epoch end?": the largest epoch up to it, and its end."""

    leader_epoch: int
    end_offset: int


class LeaderEpochs:
    """Epochs in rising order, each with its first offset."""

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else UNDEFINED

    def begin(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` begins at `start_offset`; earlier and empty epochs give way."""
        if epoch <= self.latest:
            return
        while self._starts and self._starts[-1] >= start_offset:
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return where `epoch` ended, as OffsetForLeaderEpoch answers it."""
        if not self._epochs or epoch < 0 or epoch > self.latest:
            return EpochEnd(UNDEFINED, UNDEFINED)
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        above = bisect_right(self._epochs, epoch)
        if above == 0:
            return EpochEnd(epoch, self._starts[0])
        return EpochEnd(self._epochs[above - 1], self._starts[above])

    def epoch_at(self, offset: int) -> int:
        """Return the epoch in which `offset` was written, or will be."""
        above = bisect_right(self._starts, offset)
        return self._epochs[max(0, above - 1)] if self._epochs else UNDEFINED

    def cut(self, log_end_offset: int) -> None:
        """Forget epochs that began at or after the end of the log."""
        while self._starts and self._starts[-1] >= log_end_offset:
            self._epochs.pop()
            self._starts.pop()

    def advance_to(self, log_start_offset: int) -> None:
        """Forget epochs that ended at or below the log start; the one there begins with it."""
        above = bisect_right(self._starts, log_start_offset)
        if above == 0:
            return
        del self._epochs[: above - 1], self._starts[: above - 1]
        self._starts[0] = log_start_offset

    def encode(self) -> bytes:
        rows = [f"{e} {s}" for e, s in zip(self._epochs, self._starts, strict=True)]
        return "\n".join([_VERSION, str(len(rows)), *rows, ""]).encode()

    @classmethod
    def decode(cls, data: bytes) -> "LeaderEpochs | None":
        """Decode the file; return None if it is damaged."""
        epochs = cls()
        try:
            version, count, *rows = data.decode().split("\n")[:-1]
            pairs = [tuple(map(int, row.split())) for row in rows]
            if version != _VERSION or int(count) != len(pairs):
                return None
            for epoch, start in pairs:
                epochs.begin(epoch, start)
        except ValueError:
            return None
        return epochs

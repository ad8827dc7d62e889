"""Finds the leader epochs of a log again, where their file is damaged: each batch bears its own."""

from collections.abc import Iterable

from duolog.log.checkpoints.leader_epochs import LeaderEpochs
from duolog.log.segments.segment import Segment
from duolog.record.batch import HEADER_BYTES, read_header


def epochs_of(segments: Iterable[Segment], end_offset: int) -> LeaderEpochs:
    """Return the epochs of the batches below `end_offset`.

    Raises:
        CorruptLog: a segment holds something else than batches.
    """
    epochs = LeaderEpochs()
    for segment in segments:
        for place in segment.places(0):
            if place.base_offset >= end_offset:
                return epochs
            header = read_header(segment.file.pread(place.position, HEADER_BYTES))
            epochs.begin(header.partition_leader_epoch, place.base_offset)
    return epochs

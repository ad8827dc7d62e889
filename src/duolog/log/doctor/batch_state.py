"""The state that follows from the batches of a log: producers, aborted transactions, epochs.

    batches in order ──► producers (snapshot of the recovery point)
                    ├──► aborted transactions (`.txnindex` of the segment with the marker)
                    └──► leader epochs (`leader-epoch-checkpoint`)

It is what a start computes for the part of a log that it reads; here for the whole log.
"""

from duolog.log.checkpoints.leader_epochs import LeaderEpochs
from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.producers.producer_state import ProducerStates, kept_batch
from duolog.record.batch import BatchHeader, Buffer
from duolog.record.control import Marker, decode_marker
from duolog.record.errors import CorruptBatch


class BatchState:
    """Replays batches.

    Attributes:
        aborted: the aborted transactions of the current segment.
        first_markers: the offset of each producer's first marker in the log.
        aborts: the producer of each abort marker of the current segment, by its offset.
    """

    def __init__(self) -> None:
        self.producers = ProducerStates()
        self.epochs = LeaderEpochs()
        self.aborted = AbortedIndex()
        self.aborts: dict[int, int] = {}
        self.first_markers: dict[int, int] = {}

    def begin_segment(self) -> None:
        self.aborted = AbortedIndex()
        self.aborts = {}

    def meet(self, header: BatchHeader, batch: Buffer) -> None:
        """Replay a batch."""
        self.epochs.begin(header.partition_leader_epoch, header.base_offset)
        if header.producer_id < 0:
            return
        if header.control:
            marker = _marker(header, batch)
            if marker is not None:
                self._end(header, marker)
            return
        if header.transactional:
            self.producers.transactions.note_batch(
                header.producer_id, header.base_offset, transactional=True
            )
        if header.base_sequence < 0:
            self.producers.note_epoch(header.producer_id, header.producer_epoch)
            return
        kept = kept_batch(
            header.base_sequence, header.last_offset_delta, header.base_offset, header.max_timestamp
        )
        self.producers.note(header.producer_id, header.producer_epoch, kept)

    def _end(self, header: BatchHeader, marker: Marker) -> None:
        ended = self.producers.note_marker(
            header.producer_id,
            header.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=header.max_timestamp,
            offset=header.last_offset,
        )
        self.first_markers.setdefault(header.producer_id, header.last_offset)
        if not marker.commit:
            self.aborts[header.last_offset] = header.producer_id
            if ended is not None:
                self.aborted.append(header.producer_id, ended)


def _marker(header: BatchHeader, batch: Buffer) -> Marker | None:
    if not header.records_count:
        return None
    try:
        return decode_marker(batch)
    except CorruptBatch:  # Its checksum is right: a client or a newer version wrote it.
        return None

"""Track the batches of aborted transactions, and the markers that still have data to decide.

A marker stays as long as a batch of its transaction was met before it, in this run over the log
from its start. Once there is none it still stays until a reader that began before had its time:
`delete.retention.ms`, as for tombstones.

Source: Kafka `CleanedTransactionMetadata`.
"""

from bisect import bisect_right
from collections.abc import Iterable

from duolog.log.compaction.scan import StoredBatch
from duolog.log.producers.aborted_index import AbortedEntry
from duolog.record.control import decode_marker


class Transactions:
    """The transactions that one run over a log has seen. Batches are passed in order."""

    def __init__(self, aborted: Iterable[AbortedEntry]) -> None:
        self._aborted: dict[int, list[AbortedEntry]] = {}
        for entry in sorted(aborted, key=lambda entry: entry.marker_offset):
            self._aborted.setdefault(entry.producer_id, []).append(entry)
        self._open: set[int] = set()

    def meet_data(self, batch: StoredBatch) -> bool:
        """Note a data batch; say whether its transaction was aborted."""
        header = batch.header
        if not header.transactional:
            return False
        self._open.add(header.producer_id)
        entry = self._entry(header.producer_id, header.base_offset)
        return entry is not None and entry.first_offset <= header.base_offset

    def meet_marker(self, batch: StoredBatch) -> tuple[bool, AbortedEntry | None]:
        """Note a control batch; say whether no data needs it, and which abort it ends."""
        header = batch.header
        if not header.records_count:
            return True, None
        if decode_marker(batch.data) is None:
            return False, None
        met = header.producer_id in self._open
        self._open.discard(header.producer_id)
        entry = self._entry(header.producer_id, header.base_offset)
        if entry is not None and entry.marker_offset == header.base_offset:
            return not met, entry if met else None
        return not met, None

    def _entry(self, producer_id: int, offset: int) -> AbortedEntry | None:
        """Return the first abort of the producer whose marker is at or after `offset`."""
        entries = self._aborted.get(producer_id, [])
        index = bisect_right(entries, offset - 1, key=lambda entry: entry.marker_offset)
        return entries[index] if index < len(entries) else None

"""Compare files that follow from the batches with what was replayed from them.

After deletions and compaction the log knows less than such a file: data of a transaction may be
gone while its marker is left, and producers may be known by the snapshot alone. Then only what the
log still has is compared; `complete` says that nothing is gone.
"""

from collections.abc import Mapping

from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.producers.producer_state import ActiveProducer, ProducerStates


def aborted_problem(
    found: AbortedIndex | None,
    expected: AbortedIndex,
    aborts: Mapping[int, int],
    *,
    complete: bool,
) -> str:
    """Return how an index of aborted transactions differs from the log; empty if it does not.

    `aborts` has the producer of each abort marker in the segment, by its offset.
    """
    if found is None:
        return "entries cannot be those of an index of aborted transactions"
    if complete:
        same = list(found.entries) == list(expected.entries)
        return "" if same else "aborted transactions differ from those in the log"
    listed = {entry.marker_offset: entry for entry in found.entries}
    for entry in expected.entries:
        known = listed.pop(entry.marker_offset, None)
        if known is None or known.producer_id != entry.producer_id:
            return f"the transaction aborted at offset {entry.marker_offset} is missing"
    for offset, entry in listed.items():
        if aborts.get(offset) != entry.producer_id:
            return f"no transaction was aborted at offset {offset}"
    return ""


def snapshot_problem(snapshot: bytes, replayed: ProducerStates, *, complete: bool) -> str:
    """Return how a producer snapshot differs from the producers in the log."""
    kept = ProducerStates.decode(snapshot)
    if kept is None:
        return "the producer snapshot is damaged"
    if not complete:
        return ""
    # A snapshot lacks producers that had expired, and knows none that the log does not.
    known = {one.producer_id: one for one in replayed.active_producers()}
    for one in kept.active_producers():
        if one.producer_id not in known or _facts(one) != _facts(known[one.producer_id]):
            return f"the snapshot of producer {one.producer_id} differs from the log"
    for producer_id in replayed.transactions.open:
        if producer_id not in kept.transactions.open:
            return f"the open transaction of producer {producer_id} is missing"
    return ""


def _facts(producer: ActiveProducer) -> tuple[int, int, int]:
    return producer.producer_epoch, producer.last_sequence, producer.transaction_start

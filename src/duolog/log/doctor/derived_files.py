"""Compare files that follow from the batches with what was replayed from them.

After deletions and compaction the log knows less than such a file: data of a transaction may be
gone while its marker is left, and producers may be known by the snapshot alone. Then only what the
log still has is compared.
"""

from collections.abc import Mapping
from typing import NamedTuple

from duolog.log.producers.aborted_index import AbortedEntry, AbortedIndex
from duolog.log.producers.producer_state import ActiveProducer, ProducerStates


class Kept(NamedTuple):
    """The part of a log that is left: its first offset, and whether compaction removed records."""

    first_offset: int
    compacted: bool

    @property
    def complete(self) -> bool:
        return not (self.first_offset or self.compacted)


def aborted_problem(
    found: AbortedIndex | None,
    expected: AbortedIndex,
    aborts: Mapping[int, int],
    first_markers: Mapping[int, int],
    kept: Kept,
) -> str:
    """Return how an index of aborted transactions differs from the log; empty if it does not.

    `aborts` has the producer of each abort marker in the segment, by its offset; `first_markers`
    has the offset of each producer's first marker in the log.
    """
    if found is None:
        return "entries cannot be those of an index of aborted transactions"
    listed = {entry.marker_offset: entry for entry in found.entries}
    for entry in expected.entries:
        known = listed.pop(entry.marker_offset, None)
        if known is None:
            return f"the transaction aborted at offset {entry.marker_offset} is missing"
        began_in_log = first_markers.get(entry.producer_id) != entry.marker_offset
        if not _is_same(known, entry, kept, began_in_log=began_in_log):
            return f"the transaction aborted at offset {entry.marker_offset} differs from the log"
    for offset, entry in listed.items():
        if aborts.get(offset) != entry.producer_id or kept.complete:
            return f"no transaction was aborted at offset {offset}"
    return ""


def _is_same(
    known: AbortedEntry, replayed: AbortedEntry, kept: Kept, *, began_in_log: bool
) -> bool:
    """Compare an entry with the one that is replayed from what is left of the log."""
    if known.producer_id != replayed.producer_id:
        return False
    if kept.compacted:
        return known.first_offset <= replayed.first_offset
    if began_in_log and known.first_offset != replayed.first_offset:
        return False
    # A transaction that began in deleted records seems to begin with its first batch that is left.
    return all(
        stored == seen or stored < kept.first_offset
        for stored, seen in (
            (known.first_offset, replayed.first_offset),
            (known.last_stable_offset, replayed.last_stable_offset),
        )
    )


def snapshot_problem(snapshot: bytes, replayed: ProducerStates, kept_log: Kept) -> str:
    """Return how a producer snapshot differs from the producers in the log."""
    kept = ProducerStates.decode(snapshot)
    if kept is None:
        return "the producer snapshot is damaged"
    if not kept_log.complete:
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

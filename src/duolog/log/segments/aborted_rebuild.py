"""Finds the aborted transactions of a segment again, where its `.txnindex` is damaged.

A marker does not say where its transaction began, so every segment up to this one is read: the
headers of batches, and the records of markers. A transaction that began below the log start
begins here with its first batch that is left, and one of which only the marker is left needs no
entry.
"""

from collections.abc import Iterable

from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.producers.transactions import Transactions
from duolog.log.segments.segment import Segment
from duolog.record.batch import HEADER_BYTES, read_header
from duolog.record.control import decode_marker


def rebuild_aborted(
    segments: Iterable[Segment], target: Segment, *, end: int | None = None
) -> AbortedIndex:
    """Return the index of `target`, one of `segments`, for its batches up to position `end`."""
    transactions = Transactions()
    index = AbortedIndex()
    for segment in segments:
        index = AbortedIndex()
        for place in segment.places(0, end if segment is target else None):
            header = read_header(segment.file.pread(place.position, HEADER_BYTES))
            if not header.transactional or header.producer_id < 0:
                continue
            if not header.control:
                transactions.note_batch(header.producer_id, place.base_offset, transactional=True)
                continue
            marker = decode_marker(segment.file.pread(place.position, place.size_bytes))
            ended = transactions.end(header.producer_id, place.last_offset)
            if ended is not None and marker is not None and not marker.commit:
                index.append(header.producer_id, ended)
        if segment is target:
            break
    return index

"""The transactions of one partition that are not over for a reader, and where they begin.

    offset   0 1 2 3 4 5 6 7 8            T data of a transaction, C its marker, . other records
             . T . . C . T . .
                         ^ last stable offset while the second one is open

A transaction is open from its first batch to its marker. After that it still counts until the
high watermark has passed the marker: before, a crash could take the marker back. The last stable
offset is the first offset of the earliest transaction of either kind, and bounds what a
read_committed consumer sees.

Threads: used by the broker's loop only.

Source: Kafka `ProducerStateManager`: `ongoingTxns`, `unreplicatedTxns`, `firstUnstableOffset`.
"""

from typing import NamedTuple

from duolog.log.errors import InvalidTxnState


class OpenTransaction(NamedTuple):
    """A transaction without a marker in this partition."""

    producer_id: int
    producer_epoch: int
    first_offset: int


class Ended(NamedTuple):
    """A transaction that its marker ended.

    At the marker, every transaction that began below `last_stable_offset` was over.
    """

    first_offset: int
    marker_offset: int
    last_stable_offset: int


class Transactions:
    """Open transactions, and those that ended above the high watermark."""

    __slots__ = ("_ended", "open")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """First offset by producer id; they rise in the order of the dictionary."""
        self._ended: list[Ended] = []

    def note_batch(self, producer_id: int, base_offset: int, *, transactional: bool) -> None:
        """Open the producer's transaction with its first transactional batch.

        Raises:
            InvalidTxnState: the batch is not transactional and the producer has one open.
        """
        if transactional:
            self.open.setdefault(producer_id, base_offset)
        elif producer_id in self.open:
            raise InvalidTxnState(
                f"producer {producer_id} has a transaction open since offset "
                f"{self.open[producer_id]}, and the batch is not part of it"
            )

    def end(self, producer_id: int, marker_offset: int) -> Ended | None:
        """End the producer's transaction; return None if it has none in this partition."""
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            return None
        stable = next(iter(self.open.values()), marker_offset + 1)
        return Ended(first_offset, marker_offset, stable)

    def hold(self, ended: Ended) -> None:
        """Let the transaction count until the high watermark has passed its marker."""
        self._ended.append(ended)

    def last_stable_offset(self, high_watermark: int, log_start_offset: int) -> int:
        """Return the offset up to which every transaction is decided, and that for good."""
        ended = self._ended
        if not (ended or self.open):
            return high_watermark
        if ended and ended[0].marker_offset < high_watermark:
            ended = self._ended = [item for item in ended if item.marker_offset >= high_watermark]
        first = next(iter(self.open.values()), high_watermark)
        for item in ended:
            first = min(first, item.first_offset)
        return max(min(first, high_watermark), log_start_offset)

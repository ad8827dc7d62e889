"""All committed offsets: the valid ones, and those pending in an open transaction.

    OffsetCommit ──replay──▶ durable
    TxnOffsetCommit ──replay──▶ pending of its transaction ──commit marker──▶ durable
                                                           └─abort marker───▶ dropped

The last write in the log wins, regardless of when its transaction ends: when a transaction commits,
a pending offset is dropped if the log has a later offset of the same partition.

A committed offset belongs to a topic id, not to a topic name. A tombstone removes all offsets of
its key, so none is written while a valid offset is stored or in flight.

Source: Kafka `OffsetMetadataManager`.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple

from duolog.coordinator.messages import OffsetsTransaction
from duolog.coordinator.records import OffsetChange, OffsetRecord
from duolog.core.ids import TopicPartition

Offsets = dict[TopicPartition, OffsetRecord]


class PendingOffset(NamedTuple):
    """An offset of an open transaction. `place` is its order in the log."""

    place: int
    value: OffsetRecord
    overtaken: bool = False


PendingOffsets = dict[str, dict[TopicPartition, PendingOffset]]
"""The offsets of one transaction, by group."""

_NO_OFFSETS: Final[Mapping[TopicPartition, OffsetRecord]] = MappingProxyType({})


class OffsetStore:
    """The offsets of all groups. Changed by `replay` and `end_transaction` only."""

    def __init__(self) -> None:
        self._durable: dict[str, Offsets] = {}
        self._pending: dict[OffsetsTransaction, PendingOffsets] = {}
        self._open: dict[str, set[OffsetsTransaction]] = {}
        # The records in flight.
        self._sent: dict[str, Counter[TopicPartition]] = {}
        self._places = count()

    def __contains__(self, group_id: str) -> bool:
        """Return whether anything is stored for a group."""
        return group_id in self._durable or group_id in self._open

    def of(self, group_id: str) -> Mapping[TopicPartition, OffsetRecord]:
        """Return the offsets of a group that count."""
        offsets = self._durable.get(group_id)
        return _NO_OFFSETS if offsets is None else MappingProxyType(offsets)

    def in_transactions(self, group_id: str) -> bool:
        """Return whether a transaction that has offsets of the group is open."""
        return group_id in self._open

    def pending(self, group_id: str) -> frozenset[TopicPartition]:
        """Return the partitions whose offset waits for the end of a transaction."""
        return frozenset(
            key
            for transaction in self._open.get(group_id, ())
            for key in self._pending[transaction].get(group_id, ())
        )

    def values(self, group_id: str, key: TopicPartition) -> list[OffsetRecord]:
        """Return all that is kept of a partition: what counts, and what may count.

        Nothing while a record of it is on its way to the log.
        """
        if key in self._sent.get(group_id, ()):
            return []
        durable = self.of(group_id).get(key)
        found = [] if durable is None else [durable]
        for transaction in self._open.get(group_id, ()):
            pending = self._pending[transaction].get(group_id, {}).get(key)
            if pending is not None and not pending.overtaken:
                found.append(pending.value)
        return found

    def known(self, group_id: str) -> set[TopicPartition]:
        """Return every partition that needs a tombstone before the group has no offset any more."""
        return {*self.of(group_id), *self.pending(group_id), *self._sent.get(group_id, ())}

    def sent(self, change: OffsetChange) -> None:
        """Note a record that is on its way to the log."""
        self._sent.setdefault(change.group_id, Counter())[change.topic_partition] += 1

    def landed(self, change: OffsetChange) -> None:
        """Note that a record is in the log, or was abandoned."""
        sent = self._sent[change.group_id]
        sent[change.topic_partition] -= 1
        if not sent[change.topic_partition]:
            del sent[change.topic_partition]
            if not sent:
                del self._sent[change.group_id]

    def replay(self, change: OffsetChange, transaction: OffsetsTransaction | None = None) -> None:
        """Apply a record that the log has accepted."""
        if change.value is None:
            self._remove(change.group_id, change.topic_partition)
        elif transaction is None:
            self._put(change.group_id, change.topic_partition, change.value, next(self._places))
        else:
            pending = self._pending.setdefault(transaction, {})
            offset = PendingOffset(next(self._places), change.value)
            pending.setdefault(change.group_id, {})[change.topic_partition] = offset
            self._open.setdefault(change.group_id, set()).add(transaction)

    def end_transaction(self, transaction: OffsetsTransaction, *, committed: bool) -> list[str]:
        """Commit or drop the offsets of a transaction; return their groups."""
        pending = self._pending.pop(transaction, {})
        for group_id in pending:
            self._open[group_id].remove(transaction)
            if not self._open[group_id]:
                del self._open[group_id]
        if committed:
            for group_id, offsets in pending.items():
                for key, offset in offsets.items():
                    if not offset.overtaken:
                        self._put(group_id, key, offset.value, offset.place)
        return list(pending)

    def durable_state(self) -> tuple[dict[str, Offsets], dict[OffsetsTransaction, PendingOffsets]]:
        """Return copies of the valid and the pending offsets, for comparison."""
        durable = {group_id: dict(offsets) for group_id, offsets in self._durable.items()}
        waiting = {
            transaction: {group_id: dict(offsets) for group_id, offsets in pending.items()}
            for transaction, pending in self._pending.items()
        }
        return durable, waiting

    def _put(self, group_id: str, key: TopicPartition, value: OffsetRecord, place: int) -> None:
        self._durable.setdefault(group_id, {})[key] = value
        for transaction in self._open.get(group_id, ()):
            offsets = self._pending[transaction].get(group_id, {})
            if key in offsets and offsets[key].place < place:
                offsets[key] = offsets[key]._replace(overtaken=True)

    def _remove(self, group_id: str, key: TopicPartition) -> None:
        durable = self._durable.get(group_id)
        if durable is not None:
            durable.pop(key, None)
            if not durable:
                del self._durable[group_id]
        for transaction in self._open.get(group_id, ()):
            self._pending[transaction].get(group_id, {}).pop(key, None)

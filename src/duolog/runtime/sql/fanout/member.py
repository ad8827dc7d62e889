"""A push query of one client, until the shared reader serves it.

    stream, latest       position: the end of the topic
    stream, earliest     position: the first retained record
    table, latest        snapshot: the current rows, then position: that of the snapshot
    table, earliest      position: the first retained record
    continued            stream: position of the client
                         table: from the first retained record, without rows before the position;
                         with all of them if the client has a part of the snapshot

Threads: one at a time, first the subscriber's, then a catch-up's or the shared reader's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from duolog.runtime.sql.fanout.batch_database import BatchTables
from duolog.runtime.sql.fanout.evaluators import Shape, TableEvaluator, load
from duolog.runtime.sql.fanout.positions import Mark, Place, Positions, latest
from duolog.runtime.sql.fanout.records import Batch, Record
from duolog.runtime.sql.fanout.row_buffer import NOTHING, Emitted, RowBuffer
from duolog.runtime.sql.fanout.row_sizes import size_of

_SNAPSHOT_ROWS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The current rows of a table at a position; shared by the queries that start there."""

    records: Sequence[Record]
    positions: Positions


class Member:
    """Brings one client to the position of the shared reader.

    Args:
        shape: the query.
        buffer: the client's rows.
        positions: where to read from; None to start with the current rows of a table.
        resumed: the client's place if it continues; at the first records, if it was amid a
            snapshot.
    """

    def __init__(
        self,
        shape: Shape,
        buffer: RowBuffer,
        positions: Positions | None,
        resumed: Place | None = None,
    ) -> None:
        self.shape = shape
        self.buffer = buffer
        self.positions = positions
        """The next records to read; None before the snapshot."""
        self.evaluator = shape.evaluator()
        self._snapshot: Snapshot | None = None
        self._shown = 0
        given = {} if resumed is None else resumed.given
        self._resumed: Positions = {} if resumed is None else resumed.offsets
        self._given = {(at, self._resumed[at]): rows for at, rows in given.items()}
        if resumed is not None and isinstance(self.evaluator, TableEvaluator):
            self.evaluator.continue_from_unknown()

    @property
    def needs_snapshot(self) -> bool:
        return self.positions is None

    @property
    def in_snapshot(self) -> bool:
        """True while rows of the snapshot remain."""
        return self._snapshot is not None

    def begin(self, snapshot: Snapshot) -> None:
        """Start with the rows of a snapshot."""
        self._snapshot = snapshot
        self.positions = snapshot.positions

    def show_more(self, tables: BatchTables) -> None:
        """Offer the next rows of the snapshot."""
        assert self._snapshot is not None
        records = self._snapshot.records[self._shown : self._shown + _SNAPSHOT_ROWS]
        self._shown += len(records)
        load(records, tables)
        found = self.evaluator.emitted(records, tables)
        after = None
        if self._shown >= len(self._snapshot.records):
            after = Place(self._snapshot.positions)
            self._snapshot = None
        self.buffer.offer(Emitted(found.rows, (), found.size), None, after)

    def take(self, batch: Batch, tables: BatchTables) -> None:
        """Offer the rows of a batch after the position."""
        assert self.positions is not None
        records = batch.since(self.positions)
        before = self.positions
        self.positions = latest(before, batch.after)
        if records and self._resumed and isinstance(self.evaluator, TableEvaluator):
            records = self._prime(records, self.evaluator, tables)
        emitted = NOTHING
        if records:
            load(records, tables)
            emitted = self._without_given(self.evaluator.emitted(records, tables))
        self.buffer.offer(emitted, self._place(before), self._place(self.positions))

    def _prime(
        self, records: Sequence[Record], evaluator: TableEvaluator, tables: BatchTables
    ) -> list[Record]:
        """Process the records of a table whose rows the client already has; return the others."""
        early: list[Record] = []
        late: list[Record] = []
        for one in records:
            has_it = one.offset < self._resumed.get(one.partition, 0)
            (early if has_it else late).append(one)
        if early:
            load(early, tables)
            evaluator.prime(early, tables)
        return late

    def _without_given(self, emitted: Emitted) -> Emitted:
        """Leave out rows of a record that the client already has some rows of."""
        left = dict(self._given)
        if not left or not any(mark in left for mark in emitted.marks):
            return emitted
        rows: list[tuple[object, ...]] = []
        marks: list[Mark] = []
        for row, mark in zip(emitted.rows, emitted.marks, strict=True):
            if left.get(mark, 0) > 0:
                left[mark] -= 1
                continue
            rows.append(row)
            marks.append(mark)
        return Emitted(rows, marks, size_of(rows))

    def _place(self, positions: Positions) -> Place:
        offsets = latest(positions, self._resumed)
        return Place(offsets, {p: n for (p, at), n in self._given.items() if offsets[p] == at})

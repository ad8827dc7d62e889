"""A test of the tests: each bug that is planted here must show in some life of a partition.

| planted bug                                  | what is seen                                    |
|----------------------------------------------|-------------------------------------------------|
| a snapshot holds no open transactions        | the last stable offset runs ahead after a start |
| recovery opens no transactions               | the same                                        |
| recovery reads no markers                    | transactions stay open                          |
| recovery keeps no aborted transactions       | aborted records are given out                   |
| a recovery point saves no aborted index      | the same                                        |
| a resumed index is forgotten                 | the same, of what lies before the point         |
| a resumed index is not cut                   | a transaction is listed twice                   |
| a marker counts before it is durable         | records whose marker a crash may take           |
| an entry says too much is decided            | later aborted transactions are not listed       |
| only the first segment's index is read       | transactions whose marker lies in a later one   |
| a slice gets fewer entries than it holds     | aborted records are given out                   |
| a marker ends no transaction                 | nothing is ever stable                          |
| a marker notes no epoch                      | what its producer sends late is taken           |

An index file that is ahead of its log, because the marker was torn, cannot come from a crash:
commits are synced before points. `tests/unit/log/producers/test_transactions_kept.py` has that case.
"""

# ruff: noqa: SLF001 - bugs are planted inside.

from collections.abc import Callable
from typing import Any, Final

import pytest

from duolog.core.errors import DuologError
from duolog.log.producers import aborted_index, producer_state
from duolog.log.producers.transactions import Ended, Transactions
from duolog.log.recovery import recovery
from duolog.log.segments import segment, segments
from property.test_log_transactions import busy_life, run_lives

LIVES: Final = 40

Plant = Callable[[pytest.MonkeyPatch], None]


def do_nothing(*_: object, **__: object) -> None:
    pass


def snapshot_holds_no_open_transactions(patch: pytest.MonkeyPatch) -> None:
    read = producer_state.ProducerStates._read

    def without(self: producer_state.ProducerStates, data: bytes) -> bool:
        whole = read(self, data)
        self.transactions.open.clear()
        return whole

    patch.setattr(producer_state.ProducerStates, "_read", without)


def recovery_opens_no_transactions(patch: pytest.MonkeyPatch) -> None:
    note = recovery._Recovery._note

    def without(self: Any, header: Any, place: Any, batch: Any) -> None:
        attributes = header.attributes if header.control else header.attributes & ~0x10
        note(self, header._replace(attributes=attributes), place, batch)

    patch.setattr(recovery._Recovery, "_note", without)


def recovery_reads_no_markers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery._Recovery, "_note_marker", do_nothing)


def recovery_keeps_no_aborted_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(segment.Segment, "use_aborted", do_nothing)


def point_saves_no_aborted_index(patch: pytest.MonkeyPatch) -> None:
    take = segment.Segment.index_tails

    def without(self: segment.Segment) -> Any:
        return [tail for tail in take(self) if not tail.path.endswith(".txnindex")]

    patch.setattr(segment.Segment, "index_tails", without)


def resumed_index_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    resume = recovery._Recovery._resume_aborted

    def without(self: Any, *args: Any) -> int:
        resume(self, *args)
        self._aborted = aborted_index.AbortedIndex()
        return 0

    patch.setattr(recovery._Recovery, "_resume_aborted", without)


def resumed_index_is_not_cut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(aborted_index.AbortedIndex, "cut", do_nothing)


def marker_counts_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Transactions, "hold", do_nothing)


def entry_says_too_much_is_decided(patch: pytest.MonkeyPatch) -> None:
    end = Transactions.end

    def too_much(self: Transactions, producer_id: int, offset: int) -> Ended | None:
        ended = end(self, producer_id, offset)
        return ended._replace(last_stable_offset=offset + 1) if ended else None

    patch.setattr(Transactions, "end", too_much)


def only_the_first_index_is_read(patch: pytest.MonkeyPatch) -> None:
    collect = aborted_index.AbortedIndex.collect

    def only_first(self: Any, *args: Any) -> bool:
        collect(self, *args)
        return True

    patch.setattr(aborted_index.AbortedIndex, "collect", only_first)


def slice_is_told_too_little(patch: pytest.MonkeyPatch) -> None:
    def first_record_only(_: Any, found: Any) -> int:
        bound: int = found.first_offset + 1
        return bound

    patch.setattr(segments.Segments, "offset_bound", first_record_only)


def marker_ends_no_transaction(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Transactions, "end", do_nothing)


def marker_notes_no_epoch(patch: pytest.MonkeyPatch) -> None:
    note = producer_state.ProducerStates.note_marker

    def old_epoch(self: Any, producer_id: int, epoch: int, **more: Any) -> Any:
        known = self._producers.get(producer_id)
        return note(self, producer_id, known.epoch if known else epoch, **more)

    patch.setattr(producer_state.ProducerStates, "note_marker", old_epoch)


PLANTS: Final[tuple[Plant, ...]] = (
    snapshot_holds_no_open_transactions,
    recovery_opens_no_transactions,
    recovery_reads_no_markers,
    recovery_keeps_no_aborted_transactions,
    point_saves_no_aborted_index,
    resumed_index_is_forgotten,
    resumed_index_is_not_cut,
    marker_counts_before_it_is_durable,
    entry_says_too_much_is_decided,
    only_the_first_index_is_read,
    slice_is_told_too_little,
    marker_ends_no_transaction,
    marker_notes_no_epoch,
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_seen(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)

    for seed in range(LIVES):
        cut = 20 + 17 * seed % 400
        try:
            run_lives([busy_life(cut, seed, killed=seed % 3 == 0), busy_life(200, seed)])
        except (AssertionError, DuologError):
            return

    pytest.fail("no life found it")

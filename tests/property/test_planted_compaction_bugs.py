"""A test of the tests: each bug that is planted in compaction must break the model for some log.

| planted bug                            | what is found                                   |
|----------------------------------------|-------------------------------------------------|
| the first offset of a key counts       | the last record of a key is lost                |
| hashes do not look at the key          | the same                                        |
| aborted records count                  | the same, or they are left                      |
| all records stay                       | replaced ones are left                          |
| tombstones go at once                  | a tombstone is gone before its time             |
| no horizon is set                      | a tombstone is left after its time              |
| records past the map are compared | records that the map does not know are gone     |
| times move with the horizon            | a record has another time                       |
| a run is said to have got to its end   | replaced records are left below the clean offset|
"""

# ruff: noqa: SLF001 - bugs are planted inside.

from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
import pytest

from duolog.core.errors import DuologError
from duolog.log import compaction_run
from duolog.log.compaction import compactor, key_map, markers, rewrite
from duolog.record.compression import Compression
from property.cleaned_log import (
    DELETE_RETENTION_MS,
    CleanedLog,
    Step,
    in_small_parts,
    last_of_each_key,
)
from property.test_compaction import check

LOGS: Final = 40


def random_steps(chance: Random) -> list[Step]:
    """Return batches and ends of transactions."""
    steps = []
    for _ in range(chance.randint(3, 15)):
        producer = chance.choice((-1, -1, 4, 5))
        if producer >= 0 and chance.random() < 0.4:
            steps.append(Step((), producer=producer, end=chance.choice(("commit", "abort"))))
            continue
        pairs = tuple(
            (b"%d" % chance.randrange(6), chance.choice((None, chance.randbytes(20))))
            for _ in range(chance.randint(1, 4))
        )
        steps.append(Step(pairs, chance.choice(tuple(Compression)), producer))
    return steps


def live(seed: int) -> None:
    """Fill and compact a log by a seed, and hold it against the model."""
    chance = Random(seed)  # noqa: S311 - chance, no secret
    log = CleanedLog()
    parts = in_small_parts(chance.choice((1, 4, 1000)))
    for _ in range(2):
        log.write(random_steps(chance))
        log.compact(change=parts)
        check(log, log.log.checkpoint.clean_offset)
    committed = {o: r for o, r in log.written.items() if o not in log.aborted}
    clean = log.log.checkpoint.clean_offset
    expected = last_of_each_key(committed, clean)
    assert expected.keys() <= log.records().keys(), "a tombstone is gone before its time"

    log.clock.advance(ms=2 * DELETE_RETENTION_MS)
    log.write([Step(((b"other", b"1"),))])
    if log.compact() is None:
        return  # A transaction that is open holds back what is new, so that there is no run.

    gone = {o for o, r in expected.items() if r.value is None and o < clean}
    assert not gone & log.records().keys(), "a tombstone is left after its time"


def first_offset_counts(patch: pytest.MonkeyPatch) -> None:
    put = key_map.KeyMap.put

    def reversed_put(self: Any, keys: key_map.KeyHashes, offsets: Any) -> None:
        put(self, key_map.KeyHashes(keys.first[::-1], keys.second[::-1]), offsets[::-1])

    patch.setattr(key_map.KeyMap, "put", reversed_put)


def hashes_ignore_the_key(patch: pytest.MonkeyPatch) -> None:
    def same(_self: Any, _records: Any, rows: Any) -> key_map.KeyHashes:
        ones = np.ones(len(rows), np.uint64)
        return key_map.KeyHashes(ones, ones)

    patch.setattr(key_map.KeyHasher, "hash", same)


def aborted_records_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(markers.Transactions, "meet_data", lambda _self, _batch: False)


def all_records_stay(patch: pytest.MonkeyPatch) -> None:
    def everything(_self: Any, _batches: Any, records: Any) -> Any:
        return np.ones(len(records.offsets), np.bool_)

    patch.setattr(compactor.Compactor, "_staying", everything)


def tombstones_go_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compactor, "delete_horizon_ms", lambda _header: 0)


def no_horizon_is_set(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rewrite, "DELETE_HORIZON_BIT", 0)


def records_past_the_map_are_compared(patch: pytest.MonkeyPatch) -> None:
    build = compactor.Compactor._build_map

    def too_far(self: Any) -> int:
        return max(build(self), int(self._job.end_offset))

    patch.setattr(compactor.Compactor, "_build_map", too_far)


def times_move_with_the_horizon(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        rewrite, "_moved_in_time", lambda records, rows, _: rewrite._same_bytes(records, rows)
    )


def clean_offset_is_too_far(patch: pytest.MonkeyPatch) -> None:
    finish = compaction_run.CompactionRun.finish

    def too_far(self: compaction_run.CompactionRun, _clean_offset: int) -> Any:
        return finish(self, self.found.end_offset)

    patch.setattr(compaction_run.CompactionRun, "finish", too_far)


PLANTS: Final[tuple[Callable[[pytest.MonkeyPatch], None], ...]] = (
    first_offset_counts,
    hashes_ignore_the_key,
    aborted_records_count,
    all_records_stay,
    tombstones_go_at_once,
    no_horizon_is_set,
    records_past_the_map_are_compared,
    times_move_with_the_horizon,
    clean_offset_is_too_far,
)


def test_logs_match_the_model() -> None:
    for seed in range(LOGS):
        live(seed)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_breaks_the_model(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    for seed in range(LOGS):
        try:
            live(seed)
        except (AssertionError, DuologError):
            return

    pytest.fail("no log found it")

"""Compaction against a naive model: random logs with keys, tombstones, transactions and codecs."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from duolog.record import crc_matches
from duolog.record.compression import Compression
from property.cleaned_log import (
    DELETE_RETENTION_MS,
    CleanedLog,
    Step,
    in_small_parts,
    last_of_each_key,
)

KEYS: Final = st.sampled_from([b"", b"a", b"b", b"c", b"k" * 10, b"k" * 11, b"long" * 80])
VALUES: Final = st.one_of(st.none(), st.binary(max_size=40), st.just(bytes(300)))
PAIRS: Final = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6).map(tuple)
PRODUCERS: Final = st.sampled_from([-1, -1, -1, 4, 5])
STEPS: Final = st.lists(
    st.one_of(
        st.builds(Step, PAIRS, st.sampled_from(Compression), PRODUCERS),
        st.builds(
            Step,
            st.just(()),
            producer=st.sampled_from([4, 5]),
            end=st.sampled_from(["commit", "abort"]),
        ),
    ),
    max_size=25,
)


def check(log: CleanedLog, below: int) -> None:
    """Compare the log after a run up to `below` with the model."""
    found = log.records()
    decided = {o: r for o, r in log.written.items() if o not in log.aborted}
    expected = last_of_each_key(decided, below)
    assert found.items() <= log.written.items(), "what is left was written so, at this offset"
    assert not {o for o in found if o < below and o in log.aborted}
    for offset, record in expected.items():
        if record.value is not None:
            assert offset in found, f"the last record of a key is lost: {offset}"
    for offset, record in found.items():
        if offset < below:
            assert offset in expected, f"a record that was replaced is left: {offset}"
            assert record.value is not None or offset in expected
    log_end = -1
    for header, batch in log.batches():
        assert crc_matches(batch)
        assert header.base_offset > log_end
        log_end = header.last_offset


@given(rounds=st.lists(STEPS, min_size=1, max_size=4), keys_max=st.sampled_from([1, 3, 1000]))
def test_remaining_records_match_the_model(rounds: list[list[Step]], keys_max: int) -> None:
    log = CleanedLog()
    for steps in rounds:
        log.write(steps)
        log.compact(change=in_small_parts(keys_max))
        check(log, log.log.checkpoint.clean_offset)
        log.clock.advance(ms=DELETE_RETENTION_MS // 3)
    log.disk = log.disk.kill()
    log.start()

    check(log, log.log.checkpoint.clean_offset)


@given(steps=STEPS)
def test_tombstones_stay_until_their_time_is_over_and_then_go(steps: list[Step]) -> None:
    log = CleanedLog()
    log.write(steps)
    if log.compact() is None:
        return
    below = log.log.checkpoint.clean_offset
    decided = {o: r for o, r in log.written.items() if o not in log.aborted}
    expected = last_of_each_key(decided, below)
    assert log.records().keys() - log.aborted == expected.keys()

    log.clock.advance(ms=DELETE_RETENTION_MS + 1)
    # An open transaction would hold up the second run.
    log.write([Step((), producer=producer, end="commit") for producer in (4, 5)])
    log.write([Step(((b"other", b"1"),))])
    assert log.compact() is not None

    # Transactions that were open then are decided now, and replace earlier values.
    decided = {o: r for o, r in log.written.items() if o not in log.aborted}
    expected = last_of_each_key(decided, log.log.checkpoint.clean_offset)
    left = {o for o, r in expected.items() if r.value is not None}
    assert {o for o in log.records() if o < below} == {o for o in left if o < below}

from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.mirror.offset_map import OffsetMap, runs_of


@given(
    offsets=st.sets(st.integers(0, 60), min_size=1).map(sorted),
    sizes=st.lists(st.integers(1, 9), min_size=1),
    gap=st.integers(0, 3),
    first=st.integers(0, 50),
)
def test_every_offset_is_translated_to_the_next_copied_record(
    offsets: list[int], sizes: list[int], gap: int, first: int
) -> None:
    """Transactions of any size, with `gap` markers after each, as a list of pairs would do it."""
    translated, at = OffsetMap(), 0
    pairs: list[tuple[int, int]] = []
    while at < len(offsets):
        chunk = offsets[at : at + sizes[len(pairs) % len(sizes)]]
        translated.add(first, runs_of(chunk))
        pairs += [(source, first + number) for number, source in enumerate(chunk)]
        first += len(chunk) + gap
        at += len(chunk)

    for offset in range(65):
        expected = next((copy for source, copy in pairs if source >= offset), None)
        assert translated.translate(offset) == expected


def test_a_partition_without_records_has_no_translation() -> None:
    assert OffsetMap().translate(0) is None


def test_runs_without_gaps_are_merged() -> None:
    offsets = OffsetMap()
    for number in range(100):
        offsets.add(number * 2, [number * 2, 2])

    assert offsets.runs == 1
    assert offsets.translate(150) == 150

"""Values in a tree whose root is an accumulator: as Java's sorted map has them, and cheap to change."""

from unit.kernel.java_program import run_java


def test_a_tree_has_what_a_sorted_map_has_and_a_step_writes_a_few_kilobytes() -> None:
    values = 100_000

    measured = run_java("MultisetSteps", values, timeout_s=120)

    pages, largest_page, root, written_by_step = map(int, measured)
    assert pages > values * 10 // 4096
    assert largest_page <= 4096
    assert root <= 2048 + 64
    assert written_by_step < 20_000

"""Rows leave in the order of their windows and keys, however few of them fit into memory: in Java, without Spark."""

import random
from collections.abc import Sequence

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

ALL_FIT = 1 << 20
FEW_FIT = 1_000
"""Four keys or so."""


def left(*steps: str, read: int = 1_000_000, fit: int = ALL_FIT) -> list[str]:
    """Return what has left, as end/start/key."""
    return run_java("DueOrderSteps", read, fit, *steps)


def made(rows: Sequence[tuple[int, int, int]]) -> list[str]:
    return [f"+{key},{start},{end}" for end, start, key in rows]


@pytest.mark.parametrize("fit", [ALL_FIT, FEW_FIT])
@pytest.mark.parametrize("read", [1_000_000, 2], ids=["at once", "by and by"])
@pytest.mark.parametrize("written", [True, False])
def test_rows_leave_by_end_then_start_then_key(*, fit: int, read: int, written: bool) -> None:
    rng = random.Random(7)  # noqa: S311 - nothing secret
    rows = [(rng.randrange(60), rng.randrange(3), key) for key in range(60)]
    wanted = [f"{end}/{start}/{key}" for end, start, key in sorted(rows)]

    found = left(*made(rows), *(["write"] if written else []), "25", "60", read=read, fit=fit)

    assert found == wanted


@pytest.mark.parametrize("fit", [ALL_FIT, FEW_FIT])
def test_rows_added_while_a_bucket_closes_are_emitted_in_order(fit: int) -> None:
    first = [(end, 0, key) for key, end in enumerate([12, 13, 15, 17, 18, 19, 19])]
    later = [(14, 0, 90), (16, 1, 91), (16, 0, 92)]

    found = left(*made(first), "write", "13", *made(later), "-3,0,17", "30", fit=fit)

    expected = sorted({*first, *later} - {(17, 0, 3)})
    assert found == [f"{end}/{start}/{key}" for end, start, key in expected]


def test_a_row_of_a_time_long_gone_leaves_before_those_of_its_bucket() -> None:
    found = left("+1,0,55", "write", "52", "+2,0,3", "52", "56")

    assert found == ["3/0/2", "55/0/1"]


def test_evicted_rows_keep_the_same_order() -> None:
    rows = [(90, 0, 1), (20, 0, 2), (40, 0, 3)]

    assert left(*made(rows), "write", "all") == ["20/0/2", "40/0/3", "90/0/1"]

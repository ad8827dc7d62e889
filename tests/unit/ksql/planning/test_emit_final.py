"""EMIT FINAL without GRACE PERIOD: a result is emitted at the end of its window."""

from collections.abc import Callable
from typing import Any

import pytest

from duolog.plan.nodes import AggregateNode
from unit.ksql.join_queries import STRICT, Given, in_kernel, planned, run
from unit.ksql.planning.test_calendar_windows import counted

DAY_MS = 86_400_000
WINDOWS = {
    "TUMBLING (SIZE 10 MILLISECONDS{})": 10,
    "HOPPING (SIZE 10 MILLISECONDS, ADVANCE BY 10 MILLISECONDS{})": 10,
    "SESSION (3 MILLISECONDS{})": 3,
}
GIVEN: tuple[Given, ...] = (
    ("ends", 1, {"KM": 1}, 5),
    ("ends", 1, {"KM": 1}, 12),
    ("ends", 1, {"KM": 1}, 6),
    ("ends", 1, {"KM": 1}, 25),
)
"""The third record arrives when the window of the first has closed."""


def grace_of(query: str, given: dict[str, str] | None = None) -> int:
    (node,) = [one for one in planned(query, given).plan.nodes if isinstance(one, AggregateNode)]
    assert node.windows is not None
    return node.windows.grace_ms


@pytest.mark.parametrize("given", [None, STRICT], ids=["", "strict"])
@pytest.mark.parametrize(("window", "size_ms"), WINDOWS.items())
def test_the_default_grace_period_is_zero_for_final_windows_and_a_day_for_others(
    window: str, size_ms: int, given: dict[str, str] | None
) -> None:
    plain, graced = window.format(""), window.format(", GRACE PERIOD 7 MILLISECONDS")

    assert grace_of(counted(plain, "EMIT FINAL"), given) == 0
    assert grace_of(counted(plain, "EMIT CHANGES"), given) == DAY_MS - size_ms
    assert grace_of(counted(graced, "EMIT FINAL"), given) == 7


@pytest.mark.parametrize("window", WINDOWS)
def test_a_result_is_emitted_with_the_first_record_after_its_window(window: str) -> None:
    written = run(counted(window.format(""), "EMIT FINAL", ""), *GIVEN)

    assert [value for _, value, _ in written] == [{"N": 1}, {"N": 1}]


@pytest.mark.parametrize("run_it", [run, in_kernel])
def test_a_strict_result_is_lost_by_the_start_of_the_last_window_not_by_stream_time(
    run_it: Callable[..., list[tuple[Any, Any, int]]],
) -> None:
    """The first two windows start 15 and 19 ms before stream time, but 10 ms before the last window."""
    windows = "TUMBLING (SIZE 10 MILLISECONDS)"
    times = enumerate((5, 15, 29, 49))

    written = run_it(
        counted(windows, "EMIT FINAL", ""),
        *(("ends", number, {"KM": 1}, time) for number, time in times),
        settings=STRICT,
    )

    assert written == [(0, {"N": 1}, 5), (1, {"N": 1}, 15)]

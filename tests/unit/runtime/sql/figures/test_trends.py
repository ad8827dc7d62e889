"""The direction of a lag, from samples at known times."""

import pytest

from duolog.runtime.sql.figures.trends import (
    SAMPLES_MIN,
    SPAN_MS_MIN,
    WINDOW_MS,
    Trend,
    trend_of_ms,
    trend_of_records,
)

STEP = 5_000


def line(start: int, per_second: float, samples: int = 25) -> list[tuple[int, int]]:
    """Return samples every five seconds of a lag that grows by so much per second."""
    return [(at * STEP, int(start + per_second * at * STEP / 1000)) for at in range(samples)]


@pytest.mark.parametrize(
    ("samples", "trend"),
    [
        (line(0, 1), "rising"),
        (line(10_000, -10), "falling"),
        (line(0, 0), "steady"),
        (line(5, 0.1), "steady"),  # 6 records in a minute.
        (line(1_000_000, 100), "steady"),  # 6,000 in a minute are less than 1 %.
        (line(1_000_000, 200), "rising"),
        (line(1_000_000, -200), "falling"),
    ],
)
def test_a_lag_in_records(samples: list[tuple[int, int]], trend: Trend) -> None:
    assert trend_of_records(samples) == trend


@pytest.mark.parametrize(
    ("samples", "trend"),
    [
        (line(0, 1_000), "rising"),  # A query that does not run.
        (line(10_000_000, 1_000), "rising"),  # However large its lag is.
        (line(10_000_000, -1_000), "falling"),
        (line(2_000, 0), "steady"),
        (line(2_000, 50), "steady"),
        (line(2_000, 200), "rising"),
    ],
)
def test_a_lag_in_milliseconds(samples: list[tuple[int, int]], trend: Trend) -> None:
    assert trend_of_ms(samples) == trend


def test_the_saw_tooth_of_micro_batches_is_steady() -> None:
    samples = [(at * STEP, (at % 2) * 900) for at in range(24)]

    assert trend_of_records(samples) == "steady"
    assert trend_of_ms(samples) == "steady"


def test_one_peak_does_not_make_a_trend() -> None:
    samples = line(0, 0)
    samples[-1] = (samples[-1][0], 1_000_000)

    assert trend_of_records(samples) == "steady"


def test_only_the_last_two_minutes_count() -> None:
    rise = [(at, at) for at in range(0, 600_000, STEP)]
    flat = [(600_000 + at, 600_000) for at in range(0, WINDOW_MS + STEP, STEP)]

    assert trend_of_records(rise) == "rising"
    assert trend_of_records(rise + flat) == "steady"


def test_few_samples_have_no_trend() -> None:
    times = [0, 1, 2, SPAN_MS_MIN]

    assert trend_of_records([]) is None
    assert trend_of_records([(at, at) for at in times]) == "rising"
    assert trend_of_records([(at, at) for at in times][: SAMPLES_MIN - 1]) is None
    assert trend_of_records([(at, at) for at in (0, 1, 2, SPAN_MS_MIN - 1)]) is None

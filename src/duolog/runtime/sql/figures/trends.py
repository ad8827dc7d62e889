"""The direction in which a lag changes.

The samples of the last two minutes are divided into an older and a newer half of equal duration.
Each half has a median. The lag rises if the newer median is greater by more than a tolerance, falls
if it is smaller by more than that, and is steady otherwise:

    lag in records         10 records, and 1 % of the older median
    lag in milliseconds    1 second, and a tenth of the time between the middles of the halves

With medians, the saw-tooth of micro-batches is steady. A query that does not run has a lag in
milliseconds that grows as fast as time passes, so it rises, however large it is. With less than
four samples, or samples of less than 15 seconds, the direction is unknown.
"""

from collections.abc import Sequence
from statistics import median
from typing import Final
from typing import Literal as OneOf

Trend = OneOf["rising", "falling", "steady"]
Sample = tuple[int, int]
"""Time of measurement in ms, and value."""

WINDOW_MS: Final = 120_000
SPAN_MS_MIN: Final = 15_000
SAMPLES_MIN: Final = 4
_RECORDS: Final = 10
_PART_OF_RECORDS: Final = 0.01
_MS: Final = 1_000
_PART_OF_TIME: Final = 0.1


def trend_of_records(samples: Sequence[Sample]) -> Trend | None:
    """Return the direction of a lag in records; `samples` are in the order of time.

    Example:
        >>> trend_of_records([(at, at // 100) for at in range(0, 60_000, 5_000)])
        'rising'
        >>> trend_of_records([(at, at // 5_000 % 2 * 900) for at in range(0, 120_000, 5_000)])
        'steady'
    """
    halves = _halves(samples)
    if halves is None:
        return None
    older, newer, _ = halves
    return _direction(newer - older, _RECORDS + _PART_OF_RECORDS * older)


def trend_of_ms(samples: Sequence[Sample]) -> Trend | None:
    """Return the direction of a lag in milliseconds; `samples` are in the order of time."""
    halves = _halves(samples)
    if halves is None:
        return None
    older, newer, apart_ms = halves
    return _direction(newer - older, _MS + _PART_OF_TIME * apart_ms)


def _halves(samples: Sequence[Sample]) -> tuple[float, float, float] | None:
    """Return the medians of both halves, and the time between their middles."""
    if not samples:
        return None
    last = samples[-1][0]
    recent = [one for one in samples if last - one[0] <= WINDOW_MS]
    first = recent[0][0]
    if len(recent) < SAMPLES_MIN or last - first < SPAN_MS_MIN:
        return None
    middle = (first + last) / 2
    older = [value for at, value in recent if at <= middle]
    newer = [value for at, value in recent if at > middle]
    return median(older), median(newer), (last - first) / 2


def _direction(change: float, tolerance: float) -> Trend:
    if change > tolerance:
        return "rising"
    return "falling" if change < -tolerance else "steady"

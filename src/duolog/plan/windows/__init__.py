"""Windows of aggregates and the time limits of stream joins.

Start with `windows`.
"""

from duolog.plan.windows.windows import (
    FixedWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Windows,
    ensure_closing,
    ensure_retention,
)

__all__ = [
    "FixedWindows",
    "SessionWindows",
    "SlidingWindows",
    "TimeWindows",
    "UnlimitedWindows",
    "Windows",
    "ensure_closing",
    "ensure_retention",
]

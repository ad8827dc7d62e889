"""Long work on the loop, cut into time slices, so that other connections are served in between."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.core.clock import Clock

SLICE_S: Final = 0.002
"""Others wait no longer than this for one request, and what one item takes."""

SHORT_SLICE_S: Final = 0.004
"""For work that does not wait for a disk: nothing of it holds the loop longer."""


def run_in_slices(
    clock: "Clock", timers: "Timers", steps: Iterator[object], first_slice_s: float = SHORT_SLICE_S
) -> None:
    """Run a generator to its end, some of it now and the rest in later rounds."""

    def run_slice(seconds: float) -> None:
        until = clock.monotonic() + seconds
        for _ in steps:
            if clock.monotonic() >= until:
                timers.call_at(until, lambda: run_slice(SHORT_SLICE_S))
                return

    run_slice(first_slice_s)

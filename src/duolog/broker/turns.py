"""Long work on the loop, cut into turns, so that other connections are served in between.

Creating or deleting a topic costs a few syncs of directories. A request may name a thousand.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from duolog.broker.api import RequestContext
    from duolog.broker.loop import Timers
    from duolog.core.clock import Clock

TURN_S: Final = 0.02
"""About what one slow sync takes; others wait no longer for this request."""

SHORT_TURN_S: Final = 0.004
"""For work that does not wait for a disk: nothing of it holds the loop longer."""

Item = TypeVar("Item")


def work_in_turns(
    context: "RequestContext",
    items: Iterable[Item],
    work: Callable[[Item], None],
    finish: Callable[[], None],
) -> None:
    """Call `work` for each item, some now and the rest in later rounds, and `finish` at the end.

    What `work` or `finish` raises becomes the error answer of the request.
    """
    broker = context.broker
    rest = iter(items)

    def turn() -> None:
        until = broker.clock.monotonic() + TURN_S
        try:
            for item in rest:
                work(item)
                if broker.clock.monotonic() >= until:
                    broker.timers.call_later(0.0, turn)
                    return
            finish()
        except Exception as error:  # noqa: BLE001  The edge of a request, in a later round.
            broker.refuse(context, error)

    turn()


def run_in_turns(
    clock: "Clock", timers: "Timers", steps: Iterator[object], first_turn_s: float = SHORT_TURN_S
) -> None:
    """Run a generator to its end, some of it now and the rest in later rounds."""

    def turn(seconds: float) -> None:
        until = clock.monotonic() + seconds
        for _ in steps:
            if clock.monotonic() >= until:
                timers.call_at(until, lambda: turn(SHORT_TURN_S))
                return

    turn(first_turn_s)

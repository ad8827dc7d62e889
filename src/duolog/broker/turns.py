"""Long work on the loop, cut into turns, so that other connections are served in between.

A request may name a thousand topics. What is looked up for each is done in turns; what changes each
is done by the controller, which has turns of its own and a thread for the disk.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from duolog.broker.api import RequestContext
    from duolog.broker.controller import Change
    from duolog.broker.loop import Timers
    from duolog.core.clock import Clock

TURN_S: Final = 0.002
"""Others wait no longer than this for one request, and what one item takes."""

SHORT_TURN_S: Final = 0.004
"""For work that does not wait for a disk: nothing of it holds the loop longer."""

Item = TypeVar("Item")


def work_in_turns(
    context: "RequestContext",
    items: Iterable[Item],
    work: Callable[[Item], None],
    finish: Callable[[], None],
    *,
    turn_s: float = TURN_S,
) -> None:
    """Call `work` for each item, some now and the rest in later rounds, and `finish` at the end.

    What `work` or `finish` raises becomes the error answer of the request.
    """
    broker = context.broker
    rest = iter(items)

    def turn() -> None:
        until = broker.clock.monotonic() + turn_s
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


def change_each(
    context: "RequestContext",
    items: Sequence[Item],
    task: Callable[[Item], "tuple[str, Callable[[], Change | None]]"],
    done: Callable[[Item, Exception | None], Any],
    finish: Callable[[list[Any]], None],
) -> None:
    """Let the controller change each item in its order, and call `finish` when all are done.

    `task` names the subject of an item, and returns what the controller is to call for it. `done`
    is told what came of an item: None, or what spoke against it; `finish` gets what it returned
    for each. What either raises becomes the error answer of the request.
    """
    results: list[Any] = [None] * len(items)
    left = len(items)

    def answered(index: int, error: Exception | None) -> None:
        nonlocal left
        left -= 1
        try:
            if not context.replied:
                results[index] = done(items[index], error)
                if not left:
                    finish(results)
        except Exception as unexpected:  # noqa: BLE001  The edge of a request, in a later round.
            context.broker.refuse(context, unexpected)

    if not items:
        finish(results)
    for index, item in enumerate(items):
        subject, prepare = task(item)
        context.broker.controller.submit(subject, prepare, partial(answered, index))

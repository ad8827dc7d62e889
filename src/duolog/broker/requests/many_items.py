"""Requests that name many things: a thousand topics, a hundred thousand groups.

What is looked up for each is done in time slices; what changes each is done by the controller,
which has a thread for the disk. What only looks ends with its connection; a change that has begun
is finished, as others may have seen a part of it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from duolog.broker.controller import Change
    from duolog.broker.requests.api import RequestContext
    from duolog.broker.requests.needs import Broker

Item = TypeVar("Item")
Result = TypeVar("Result")


class Waiting(NamedTuple):
    """A step whose result comes from another thread than the one for long computations."""

    begin: Callable[[Callable[[object, Exception | None], None]], None]
    """Starts it. It calls the function on the loop, with the result or an exception."""


Step = Callable[[], object] | Waiting | None
Stepwise = Generator[Step, Any, Result]
"""Work in steps, and its result.

It yields None when it may be interrupted, a function for another thread to call, or something to
wait for. It is sent the result, which can be of any type.
"""
Steps = Stepwise[None]


def do_nothing(_: object) -> None:
    """Do nothing: for steps that do their work when they are asked for."""


def work_in_slices(
    context: "RequestContext[Broker]",
    items: Iterable[Item],
    work: Callable[[Item], None],
    finish: Callable[[], None],
) -> None:
    """Call `work` for each item, some now and the rest in later rounds, and `finish` at the end.

    What `work` or `finish` raises becomes the error answer of the request.
    """

    def steps() -> Iterator[None]:
        try:
            for item in items:
                work(item)
                yield
            finish()
        except Exception as error:  # noqa: BLE001  The edge of a request, in a later round.
            context.broker.refuse(context, error)

    context.broker.slices.run(context.timed(steps()), wanted=context.wanted)


def run_steps(context: "RequestContext[Broker]", steps: Steps) -> None:
    """Run a generator to its end as `run_generator` does.

    What it raises becomes the error answer of the request.
    """

    def guarded() -> Steps:
        try:
            yield from steps
        except Exception as error:  # noqa: BLE001  The edge of a request, in a later round.
            context.broker.refuse(context, error)

    run_generator(context.broker, guarded(), wanted=context.wanted, timed=context.timed)


def run_generator(
    broker: "Broker",
    steps: Steps,
    *,
    wanted: Callable[[], bool] = lambda: True,
    timed: Callable[[Iterator[None]], Iterator[None]] = lambda steps: steps,
) -> None:
    """Run a generator to its end, in time slices, while it is `wanted`; `timed` counts its time.

    The generator yields None at points where it may be interrupted. If it yields a function, the
    function is called off the event loop, and its result or exception is sent to the generator.
    The result of a `Waiting` is sent in the same way.
    """

    def go_on(result: object = None, error: Exception | None = None) -> None:
        if wanted():
            broker.slices.run(timed(some(result, error)), wanted=wanted)

    def some(result: object, error: Exception | None) -> Iterator[None]:
        while True:
            try:
                step = steps.send(result) if error is None else steps.throw(error)
            except StopIteration:
                return
            result = error = None
            if isinstance(step, Waiting):
                step.begin(go_on)
                return
            if step is not None:
                broker.beside.call(step, go_on)
                return
            yield

    go_on()


def change_each(
    context: "RequestContext[Broker]",
    items: Sequence[Item],
    task: Callable[[Item], "tuple[str, Callable[[], Change | None]]"],
    done: Callable[[Item, Exception | None], Result],
    finish: Callable[[list[Result]], None],
) -> None:
    """Let the controller change each item in its order, and call `finish` when all are done.

    `task` names the subject of an item, and returns what the controller is to call for it. `done`
    is called with the result of an item: None, or what spoke against it; `finish` gets what it
    returned for each. What either raises becomes the error answer of the request.
    """
    results: dict[int, Result] = {}
    left = len(items)

    def answered(index: int, error: Exception | None) -> None:
        nonlocal left
        left -= 1
        try:
            if not context.replied:
                results[index] = done(items[index], error)
                if not left:
                    finish([results[place] for place in range(len(items))])
        except Exception as unexpected:  # noqa: BLE001  The edge of a request, in a later round.
            context.broker.refuse(context, unexpected)

    def submit(entry: tuple[int, Item]) -> None:
        index, item = entry
        subject, prepare = task(item)
        context.broker.controller.submit(
            subject, prepare, partial(answered, index), secret=context.secret
        )

    work_in_slices(context, enumerate(items), submit, lambda: None if items else finish([]))

"""Signals end a command."""

import asyncio
import signal
import threading
from collections.abc import Iterator

import pytest

from duolog.cli.errors import Terminated
from duolog.cli.signals import end_by_event, end_in_order_on_signals


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "ends_by"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_the_first_signal_waits_for_the_end_of_the_work(
    number: signal.Signals, ends_by: type[BaseException]
) -> None:
    """Ctrl-C in the middle of a call to the JVM printed Py4J's own traceback."""
    done: list[str] = []

    def work() -> None:
        with end_by_event() as stop:
            signal.raise_signal(number)
            assert stop.wait(60)
            done.append("all of it")

    with pytest.raises(ends_by):
        work()

    assert done == ["all of it"]


def test_the_second_signal_ends_it_at_once() -> None:
    def work() -> None:
        with end_by_event():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("it continued")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_the_second_signal_hurries_what_can_be_hurried_and_the_third_ends_it() -> None:
    """A second Ctrl-C used to interrupt an orderly shutdown, whose threads were still waited for."""
    hurried = threading.Event()
    done: list[str] = []

    def work(*, thrice: bool) -> None:
        with end_by_event(hurried.set) as stop:
            signal.raise_signal(signal.SIGTERM)
            assert stop.wait(60)
            assert not hurried.is_set()
            signal.raise_signal(signal.SIGINT)
            assert hurried.wait(60)
            done.append("continues")
            if thrice:
                signal.raise_signal(signal.SIGINT)
                pytest.fail("it continued")
        hurried.clear()

    with pytest.raises(Terminated):
        work(thrice=False)
    hurried.clear()
    with pytest.raises(KeyboardInterrupt):
        work(thrice=True)

    assert done == ["continues", "continues"]


def test_a_signal_is_handled_while_the_lock_of_the_event_is_held() -> None:
    """The handler took that lock itself, in the thread that held it: the command never ended."""

    def work() -> None:
        with end_by_event() as stop:
            with stop._cond:  # type: ignore[attr-defined]  # noqa: SLF001 - as within its wait
                signal.raise_signal(signal.SIGINT)
            assert stop.wait(60)

    with pytest.raises(KeyboardInterrupt):
        work()


@pytest.mark.parametrize(
    ("number", "ends_by"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_in_a_callback_ends_the_event_loop(
    number: signal.Signals, ends_by: type[BaseException]
) -> None:
    """The shell's prompt used to treat a SIGTERM during drawing as its own failure, and kept running."""

    async def prompt() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, number)
        await asyncio.sleep(5)

    end_in_order_on_signals()
    with pytest.raises(ends_by):
        asyncio.run(prompt())


def test_without_a_signal_nothing_is_raised() -> None:
    with end_by_event() as stop:
        pass

    assert not stop.is_set()

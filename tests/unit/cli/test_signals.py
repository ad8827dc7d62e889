"""How signals end a command."""

import asyncio
import signal
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
            assert stop.wait(5)
            done.append("all of it")

    with pytest.raises(ends_by):
        work()

    assert done == ["all of it"]


def test_the_second_signal_ends_it_at_once() -> None:
    def work() -> None:
        with end_by_event():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("it went on")

    with pytest.raises(KeyboardInterrupt):
        work()


@pytest.mark.parametrize(
    ("number", "ends_by"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_in_a_callback_ends_the_event_loop(
    number: signal.Signals, ends_by: type[BaseException]
) -> None:
    """The prompt of the shell took a SIGTERM that came while it drew for a failure of its own, and went on."""

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

import os
import signal
import threading

import pytest

from duolog.broker.event_loop.loop import Loop
from duolog.core.clock import SystemClock
from duolog.core.operating_system import polling
from duolog.core.operating_system.polling import READ
from duolog.core.operating_system.portable import PORTABLE
from duolog.testing.clock import FakeClock


@pytest.fixture(params=[False, True], ids=["native", "portable"], autouse=True)
def on_each_poller(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "PORTABLE", request.param or PORTABLE)


def test_timers_run_in_the_order_of_their_times() -> None:
    clock = FakeClock()
    loop = Loop(clock)
    ran: list[str] = []
    loop.timers.call_later(2, lambda: ran.append("b"))
    loop.timers.call_later(1, lambda: ran.append("a"))
    loop.timers.call_later(9, lambda: ran.append("c"))

    clock.advance(3)
    loop.run_once(0)

    assert ran == ["a", "b"]
    assert loop.timers.seconds_to_next() == 6
    loop.close()


def test_a_cancelled_timer_does_not_run_and_may_be_cancelled_again() -> None:
    clock = FakeClock()
    loop = Loop(clock)
    ran: list[str] = []
    timer = loop.timers.call_later(1, lambda: ran.append("a"))

    timer.cancel()
    timer.cancel()
    clock.advance(2)
    loop.run_once(0)

    assert ran == []
    assert loop.timers.seconds_to_next() is None
    loop.close()


def test_cancelled_timers_do_not_pile_up() -> None:
    loop = Loop(FakeClock())
    for _ in range(10_000):
        loop.timers.call_later(1000, lambda: None).cancel()

    assert len(loop.timers._heap) < 200  # noqa: SLF001
    loop.close()


def test_a_timer_that_fails_stops_nothing() -> None:
    clock = FakeClock()
    loop = Loop(clock)
    ran: list[str] = []

    def fail() -> None:
        raise RuntimeError("surprise")

    loop.timers.call_later(1, fail)
    loop.timers.call_later(1, lambda: ran.append("b"))
    clock.advance(2)
    loop.run_once(0)

    assert ran == ["b"]
    loop.close()


def test_another_thread_can_call_and_stop_the_loop() -> None:
    loop = Loop(SystemClock())
    ran: list[int] = []

    def call() -> None:
        loop.call_soon_threadsafe(lambda: ran.append(threading.get_ident()))
        loop.call_soon_threadsafe(loop.stop)

    caller = threading.Thread(target=call)
    caller.start()
    loop.run()
    caller.join()

    assert ran == [threading.get_ident()]
    loop.close()


def test_after_a_round_comes_once_for_all_that_was_ready() -> None:
    loop = Loop(SystemClock())
    seen: list[str] = []
    loop.after_round = lambda: seen.append("round")
    pipes = [os.pipe() for _ in range(2)]
    for read_fd, write_fd in pipes:
        loop.register(read_fd, READ, lambda _: seen.append("ready"))
        os.write(write_fd, b"x")

    loop.run_once(1)

    assert seen == ["ready", "ready", "round"]
    for read_fd, write_fd in pipes:
        loop.unregister(read_fd)
        os.close(read_fd)
        os.close(write_fd)
    loop.close()


def test_a_stop_that_comes_before_the_loop_runs_is_not_lost() -> None:
    """SIGTERM right after the line `ready` left the broker running: `run` forgot the stop."""
    loop = Loop(SystemClock())
    loop.stop()
    runner = threading.Thread(target=loop.run, daemon=True)

    runner.start()
    runner.join(60)

    assert not runner.is_alive()
    loop.close()


def test_any_number_of_wakes_ends_a_wait_and_blocks_no_thread() -> None:
    loop = Loop(SystemClock())

    for _ in range(100_000):
        loop.wake()
    loop.run_once(60)
    loop.wake()
    loop.run_once(60)

    loop.close()


def test_a_signal_that_another_thread_receives_ends_the_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """macOS delivers a signal to any thread: the broker did not stop before the next request."""
    monkeypatch.setattr(polling, "PORTABLE", True)
    loop = Loop(SystemClock())
    before = signal.signal(signal.SIGUSR2, lambda _number, _frame: loop.stop())
    loop.wake_on_signals()
    polling_now = threading.Event()
    loop.after_round = polling_now.set

    def receive() -> None:
        polling_now.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)

    receiver = threading.Thread(target=receive)
    loop.timers.call_later(50, lambda: pytest.fail("the signal did not end the wait"))
    receiver.start()
    loop.run()

    receiver.join()
    signal.signal(signal.SIGUSR2, before)
    loop.close()

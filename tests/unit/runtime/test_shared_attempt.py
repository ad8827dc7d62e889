"""Threads that need one thing share the attempt to make it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from duolog.runtime.shared_attempt import SharedAttempt
from waiting import DEADLINE_S, wait_until


class Maker:
    """Makes a number, or fails, when the test lets it."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_end = threading.Semaphore(0)
        self.raised: list[BaseException | None] = []

    def __call__(self) -> int:
        self.calls += 1
        call = self.calls
        assert self.may_end.acquire(timeout=DEADLINE_S)
        if (error := self.raised[call - 1]) is not None:
            raise error
        return call


def test_all_threads_get_the_thing_that_the_first_one_makes() -> None:
    make = Maker()
    make.raised = [None]
    shared = SharedAttempt(make)
    with ThreadPoolExecutor(8) as pool:
        got = [pool.submit(shared.get) for _ in range(8)]
        wait_until(lambda: shared.waiting == 7, "all wait")
        make.may_end.release()

        assert [one.result(DEADLINE_S) for one in got] == [1] * 8
    assert shared.get() == 1
    assert (make.calls, shared.waiting) == (1, 0)


def test_an_error_is_that_of_all_who_waited_and_of_no_later_one() -> None:
    make = Maker()
    make.raised = [ValueError("down"), None]
    shared = SharedAttempt(make)
    with ThreadPoolExecutor(4) as pool:
        got = [pool.submit(shared.get) for _ in range(4)]
        wait_until(lambda: shared.waiting == 3, "all wait")
        make.may_end.release(2)
        for one in got:
            with pytest.raises(ValueError, match="down"):
                one.result(DEADLINE_S)

    assert shared.get() == 2


def test_an_interrupt_ends_only_the_thread_that_it_concerns() -> None:
    make = Maker()
    make.raised = [KeyboardInterrupt(), None]
    shared = SharedAttempt(make)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shared.get)
        wait_until(lambda: make.calls == 1, "the attempt")
        second = pool.submit(shared.get)
        wait_until(lambda: shared.waiting == 1, "the other waits")
        make.may_end.release(2)

        with pytest.raises(KeyboardInterrupt):
            first.result(DEADLINE_S)
        assert second.result(DEADLINE_S) == 2

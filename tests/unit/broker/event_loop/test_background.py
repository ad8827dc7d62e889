"""Background work continues after one piece of it raises."""

import logging

import pytest

from duolog.broker.event_loop.background import BackgroundThread


@pytest.mark.parametrize("error", [OSError("disk"), ValueError("a fault of ours")])
def test_an_error_of_one_call_does_not_stop_later_calls(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    background = BackgroundThread()
    done: list[int] = []

    def fail() -> None:
        raise error

    background.run(lambda: done.append(1))
    background.run(fail)
    background.run(lambda: done.append(2))
    with caplog.at_level(logging.WARNING):
        background.close()

    assert done == [1, 2]
    assert "background work failed" in caplog.text

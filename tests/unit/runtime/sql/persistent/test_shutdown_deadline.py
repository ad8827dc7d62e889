import threading

import pytest

from duolog.runtime.sql.persistent.shutdown_deadline import shutdown_deadline


def test_a_shutdown_in_time_is_not_forced() -> None:
    forced = threading.Event()

    with shutdown_deadline(60, forced.set):
        pass

    assert not forced.is_set()


def test_a_late_shutdown_is_forced() -> None:
    """Ctrl-C waited for whatever Spark was doing, on a busy machine for more than a minute."""
    forced = threading.Event()

    with shutdown_deadline(0.05, forced.set):
        assert forced.wait(30)


def test_an_interrupt_forces_the_shutdown_at_once() -> None:
    forced = threading.Event()

    with pytest.raises(KeyboardInterrupt), shutdown_deadline(60, forced.set):
        raise KeyboardInterrupt

    assert forced.is_set()

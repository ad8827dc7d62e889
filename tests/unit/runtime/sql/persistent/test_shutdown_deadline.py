import threading

import pytest

from duolog.runtime.sql.persistent.shutdown_deadline import shutdown_deadline


def test_what_ends_in_time_is_not_forced() -> None:
    forced = threading.Event()

    with shutdown_deadline(60, forced.set):
        pass

    assert not forced.is_set()


def test_what_does_not_end_in_time_is_forced() -> None:
    """Ctrl-C waited for whatever Spark was doing, on a busy machine for more than a minute."""
    forced = threading.Event()

    with shutdown_deadline(0.05, forced.set):
        assert forced.wait(30)


def test_what_is_interrupted_is_forced_at_once() -> None:
    forced = threading.Event()

    with pytest.raises(KeyboardInterrupt), shutdown_deadline(60, forced.set):
        raise KeyboardInterrupt

    assert forced.is_set()

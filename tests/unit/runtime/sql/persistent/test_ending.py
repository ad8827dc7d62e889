import threading

import pytest

from duolog.runtime.sql.persistent.ending import in_order_for


def test_what_ends_in_time_is_not_forced() -> None:
    forced = threading.Event()

    with in_order_for(60, forced.set):
        pass

    assert not forced.is_set()


def test_what_does_not_end_in_time_is_forced() -> None:
    """Ctrl-C waited for whatever Spark was doing, on a busy machine for more than a minute."""
    forced = threading.Event()

    with in_order_for(0.05, forced.set):
        assert forced.wait(30)


def test_what_is_interrupted_is_forced_at_once() -> None:
    forced = threading.Event()

    with pytest.raises(KeyboardInterrupt), in_order_for(60, forced.set):
        raise KeyboardInterrupt

    assert forced.is_set()

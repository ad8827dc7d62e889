"""Bound the time of an orderly shutdown."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shutdown_deadline(seconds: float, force: Callable[[], None]) -> Iterator[None]:
    """Call `force` from another thread after a timeout, and at once on interruption."""
    timer = threading.Timer(seconds, force)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException:
        force()
        raise
    finally:
        timer.cancel()

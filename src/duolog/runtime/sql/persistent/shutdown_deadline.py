"""An end that has its time: what an end in order has not brought about by then is forced."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shutdown_deadline(seconds: float, force: Callable[[], None]) -> Iterator[None]:
    """Call `force` from another thread where the block takes longer, and at once where it is interrupted."""
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

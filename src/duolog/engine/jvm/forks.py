"""Children that a function has forked, in the process of the user: they end where the function does.

Such a child has the thread that called it, and the connection to the JVM: with both it would go on with what its parent does.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def forks_ended() -> Iterator[None]:
    """End the process behind the block where it is another one than ahead of it, whatever was raised."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(0)

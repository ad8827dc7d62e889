"""End child processes that a user's function forks, when the function returns.

Such a child shares the calling thread and the connection to the JVM, so it would run its parent's
code with both.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exit_forked_children() -> Iterator[None]:
    """Exit the current process at the end of the block if it was forked within the block."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(0)

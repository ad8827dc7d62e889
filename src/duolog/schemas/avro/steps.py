"""Recursive functions without the interpreter's stack, whose size the caller's depth decides."""

from collections.abc import Callable, Generator
from typing import TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")


def run(
    function: Callable[[Request], Generator[Request, Result, Result]], request: Request
) -> Result:
    """Return the result of a function that yields its recursive calls instead of making them.

    Example:
        >>> def depth(rest: int) -> Generator[int, int, int]:
        ...     return 1 + (yield rest - 1) if rest else 0
        >>> run(depth, 100_000)
        100000
    """
    running = [function(request)]
    result: Result | None = None
    while True:
        try:
            # A generator starts with None; after that it gets the result of its last call.
            inner = running[-1].send(result)  # type: ignore[arg-type]
        except StopIteration as end:
            running.pop()
            result = end.value
            if not running:
                return end.value  # type: ignore[no-any-return]  # typeshed has Any here
        else:
            running.append(function(inner))
            result = None

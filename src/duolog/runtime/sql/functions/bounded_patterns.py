"""Match patterns within the time of a DuckDB call.

Python's matcher cannot be interrupted, and keeps all threads of the process from running. So it
matches here only if few steps are certain: a short text, and a pattern that does not repeat groups.
Everything else is matched in another process (`pattern_worker`), which is killed when the call is
stopped. Matching there costs about 0.1 ms for each row.

    steps of a pattern with k repetitions outside of each other: length of the text ^ (k + 1)
    an optional part or another branch: twice as many

Threads: any.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from duolog.runtime.sql.functions import patterns
from duolog.runtime.sql.functions.call_limits import limit_with
from duolog.runtime.sql.functions.pattern_process import matched

STEPS_MAX: Final = 1_000_000
"""Steps that may run in this process: some 10 ms."""
CALLS: Final[dict[str, Callable[..., Any]]] = {
    "extract": patterns.extract,
    "extract_all": patterns.extract_all,
    "replaced": patterns.replaced,
    "split": patterns.split,
    "like": patterns.like,
}
_PATTERN_FIRST: Final = frozenset({"extract", "extract_all"})
_REPEATED_GROUP: Final = re.compile(r"\)\s*[*+?{]")
_BACK: Final = re.compile(r"\\[1-9k]")
_PLAIN_GROUP: Final = re.compile(r"\(\?(?::|i\)|<[A-Za-z])")
_REPETITION: Final = re.compile(r"[*+{]")


def bounded(name: str) -> Callable[..., Any]:
    """Return a function of `CALLS` whose last argument is the number of a limit, or None.

    It raises `CallStopped` if the call with that limit is stopped.
    """
    call = CALLS[name]

    def run(*given: Any) -> Any:
        *args, number = given
        limit = limit_with(number)
        if limit is not None:
            limit.ensure()
        if is_cheap(name, args):
            return call(*args)
        return matched(name, args, limit)

    return run


def is_cheap(name: str, args: "list[Any]") -> bool:
    """Return whether a call takes at most `STEPS_MAX` steps, by an upper bound.

    Example:
        >>> is_cheap("extract", ["a+b", "a" * 500]), is_cheap("extract", ["a+b", "a" * 5000])
        (True, False)
        >>> is_cheap("extract", ["(a+)+b", "aaaa"]), is_cheap("like", ["a" * 9999, "%b%", "!"])
        (False, True)
    """
    pattern, text = args[:2] if name in _PATTERN_FIRST else args[1::-1]
    if name == "like":
        # It does not backtrack.
        return len(text) * (len(pattern) + 1) <= STEPS_MAX
    plain = _PLAIN_GROUP.sub("(", pattern)
    if "(?" in plain or _REPEATED_GROUP.search(plain) or _BACK.search(plain):
        return False
    repetitions = len(_REPETITION.findall(plain))
    doubled = plain.count("?") + plain.count("|")
    if repetitions + doubled > _EXPONENT_MAX:
        return False
    steps: int = max(2, len(text)) ** (repetitions + 1) * 2**doubled
    return steps <= STEPS_MAX


_EXPONENT_MAX: Final = 20

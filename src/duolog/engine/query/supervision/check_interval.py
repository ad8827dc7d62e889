"""The interval between two checks of a running query: whole seconds, as Spark waits."""

from typing import Final

CHECK_S: Final = 2
# The interval of a query that has long been idle: fifty idle ones then cost a third.
IDLE_CHECK_S: Final = 8


def next_check_s(check_s: int, *, is_idle: bool) -> int:
    """Return the wait before the next check: it doubles while nothing happens.

    Example:
        >>> [next_check_s(s, is_idle=True) for s in (2, 8)], next_check_s(8, is_idle=False)
        ([4, 8], 2)
    """
    return min(2 * check_s, IDLE_CHECK_S) if is_idle else CHECK_S

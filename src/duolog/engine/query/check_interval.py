"""How long a query that runs waits between two looks at itself: seconds, as Spark counts them."""

from typing import Final

CHECK_S: Final = 2
# One that has had nothing to do for long is looked at less often: fifty idle ones cost a third of what they did.
IDLE_CHECK_S: Final = 8


def next_check_s(check_s: int, *, is_idle: bool) -> int:
    """Return how long to wait for the next look: longer from one to the next while nothing happens.

    Example:
        >>> next_check_s(2, is_idle=True), next_check_s(8, is_idle=True), next_check_s(8, is_idle=False)
        (4, 8, 2)
    """
    return min(2 * check_s, IDLE_CHECK_S) if is_idle else CHECK_S

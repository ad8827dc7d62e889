"""Ask each coordinator about its groups, so that one that fails leaves the others' groups.

Threads: any; calls block.
"""

from collections.abc import Callable, Iterable

from duolog.core.errors import DuologError
from duolog.runtime.consumer_groups.groups import Listed


def ask_each(
    groups: Iterable[Listed], ask: Callable[[list[Listed]], None], problems: list[str]
) -> None:
    """Call `ask` with the groups of each coordinator; add a problem for each that fails."""
    led: dict[str, list[Listed]] = {}
    for group in groups:
        led.setdefault(group.coordinator, []).append(group)
    for some in led.values():
        try:
            ask(some)
        except DuologError as error:
            problems.append(error.one_line())

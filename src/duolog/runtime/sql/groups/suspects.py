"""Find the query that ends the shared JVM again and again, by bisection.

    the shared JVM ends once        its queries start again, as always
    it ends again within minutes    the queries that ran both times are suspects: the newer half
                                    of them moves to a JVM of its own, the quarantine
    the quarantine's JVM ends       the cause is in it: its newer half stays, the rest moves back
    the shared JVM ends             the cause is among the suspects that ran there: their newer
                                    half moves to the quarantine, the others move back
    one suspect is left             it stays alone, in a group of its own
    no JVM ends for ten minutes     the search is over: all move back

N queries need at most log2(N) more ends to find the cause. Meanwhile, and afterwards, the shared
JVM runs all others. Queries are known by their checkpoints, the oldest first.

Threads: one at a time.
"""

from collections.abc import Sequence
from typing import Final

from duolog.ksql.settings import DEFAULT_GROUP, QUARANTINE

WINDOW_S: Final = 600.0
"""Two ends within this time start a search; none within it ends one."""


class Suspects:
    """The queries of the default group that may have ended its JVM."""

    def __init__(self) -> None:
        self._suspects: tuple[str, ...] = ()
        """Suspects of the search in progress; empty without one."""
        self._held: frozenset[str] = frozenset()
        """Those of them that run in the quarantine."""
        self._found: dict[str, str] = {}
        """Causes, each with its own group."""
        self._numbers = 0
        self._last_end: tuple[float, frozenset[str]] | None = None

    def group_of(self, checkpoint: str) -> str:
        """Return the group of a query whose statement names the default one."""
        if checkpoint in self._found:
            return self._found[checkpoint]
        return QUARANTINE if checkpoint in self._held else DEFAULT_GROUP

    @property
    def found(self) -> dict[str, str]:
        """The queries that were found to be the cause, with their groups."""
        return dict(self._found)

    def note_end(self, group: str, ran: Sequence[str], now_s: float) -> bool:
        """Note the end of the JVM of the default group or the quarantine, in which queries `ran`.

        Returns:
            True if groups of queries may have changed.
        """
        here = tuple(one for one in self._suspects if one in ran)
        if here:
            self._last_end = (now_s, frozenset(ran))
            self._narrow(here)
            return True
        if group != DEFAULT_GROUP:
            return False
        before, self._last_end = self._last_end, (now_s, frozenset(ran))
        if self._suspects or before is None or now_s - before[0] > WINDOW_S:
            return False
        both = tuple(one for one in ran if one in before[1])
        if both:
            self._narrow(both)
        return bool(both)

    def look(self, now_s: float) -> bool:
        """End a search after a calm time; return true if groups have changed."""
        calm = self._last_end is None or now_s - self._last_end[0] > WINDOW_S
        if not self._suspects or not calm:
            return False
        self._suspects, self._held = (), frozenset()
        return True

    def forget(self, checkpoint: str) -> None:
        """Forget a query that has ended, or that another one replaces."""
        self._found.pop(checkpoint, None)
        self._suspects = tuple(one for one in self._suspects if one != checkpoint)
        self._held -= {checkpoint}

    def _narrow(self, suspects: tuple[str, ...]) -> None:
        if len(suspects) == 1:
            self._numbers += 1
            self._found[suspects[0]] = f"{QUARANTINE}-{self._numbers}"
            self._suspects, self._held, self._last_end = (), frozenset(), None
            return
        self._suspects = suspects
        self._held = frozenset(suspects[len(suspects) // 2 :])

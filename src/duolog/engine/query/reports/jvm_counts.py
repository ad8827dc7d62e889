"""The kernel's counts of a query, summed over the JVMs that it has used one after the other.

    JVM 1 ended   JVM 2 ended   JVM 3 runs
    └──────── earlier ───────┘  └─ current ─┘

Each JVM counts from 0. Thread rule: one thread notes a new JVM; any thread may read.
"""

from dataclasses import dataclass, field

from duolog.engine.query.reports.progress import Counters


@dataclass(slots=True)
class JvmCounts:
    """The counts of one query."""

    current: Counters = field(default_factory=Counters)
    """The last counts of the current JVM."""
    _earlier: Counters = field(default_factory=Counters)

    @property
    def total(self) -> Counters:
        """The counts of all JVMs."""
        return self.current.added_to(self._earlier)

    def start_jvm(self) -> None:
        """Keep the last counts of a JVM that has ended; the next one counts from 0."""
        self._earlier, self.current = self.total, Counters()

"""The pauses before a failed query starts again."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Pauses:
    """Pause before a restart, in seconds: doubles with each failure, up to `longest_s`."""

    first_s: float = 15.0
    longest_s: float = 900.0

    def after(self, failures: int) -> float:
        """Return the pause after a number of consecutive failures.

        Example:
            >>> [Pauses().after(failures) for failures in (1, 2, 3, 9)]
            [15.0, 30.0, 60.0, 900.0]
        """
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 60))


DEFAULT_PAUSES: Final = Pauses()
"""ksqlDB's."""

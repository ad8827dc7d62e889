"""Short pauses of the collector of reference cycles, for processes with many lasting objects.

A collection of all objects stops every request: 60 ms for the 500,000 objects of a server. What
has survived one is therefore left out of the next ones, as if it were a further generation. That
generation is scanned once in `LASTING_S`.

Source: the gc module; CPython 3.14 collects in small steps itself, and gains less.
"""

import gc
from collections.abc import Mapping
from typing import Any, Final

from duolog.core.clock import Clock

_YOUNG: Final = 10_000
"""A collection of this number of new objects takes 2 ms. Requests create hardly any cycles."""
_YOUNG_PER_MIDDLE: Final = 2
_MIDDLE_PER_FULL: Final = 20
LASTING_S: Final = 600


class LastingObjects:
    """Leaves objects that have survived a full collection out of later ones.

    Args:
        clock: decides when the objects that were left out are scanned again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._scanned_at = clock.monotonic()
        self._thresholds = gc.get_threshold()

    def start(self) -> None:
        """Set the thresholds of this process, and leave out what exists now."""
        gc.freeze()
        gc.set_threshold(_YOUNG, _YOUNG_PER_MIDDLE, _MIDDLE_PER_FULL)
        gc.callbacks.append(self._collected)

    def stop(self) -> None:
        """Treat all objects alike again."""
        gc.callbacks.remove(self._collected)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def _collected(self, phase: str, info: Mapping[str, Any]) -> None:
        if phase != "stop" or info["generation"] != 2:
            return
        now = self._clock.monotonic()
        if now - self._scanned_at < LASTING_S:
            gc.freeze()
        else:
            self._scanned_at = now
            gc.unfreeze()

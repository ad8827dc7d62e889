"""The Spark session of one engine: opened when it is needed, and again after its JVM has ended.

Thread rule: any thread. Queries that lost their JVM request the next one at the same time, and
share it.
"""

import threading
from dataclasses import dataclass, field

from duolog.engine.settings import EngineConfig
from duolog.engine.spark.session import Session, open_session


@dataclass(slots=True)
class EngineSession:
    """The session of one engine. Setting `given_up` aborts a JVM that is still starting."""

    config: EngineConfig
    given_up: threading.Event = field(default_factory=threading.Event)
    opened: Session | None = None
    """The session that was opened last; None before the first, and after `close`."""
    _opening: threading.Lock = field(default_factory=threading.Lock)

    def get(self) -> Session:
        """Return the session, and start its JVM if none runs.

        Raises:
            ConfigError: as `open_session`.
        """
        with self._opening:
            if self.opened is None or self.opened.has_ended:
                self.opened = open_session(self.config, given_up=self.given_up)
            return self.opened

    def close(self) -> None:
        """Close the session; the last engine of this process ends the JVM."""
        # Kept until it has ended, so that `end_now` finds it.
        if (opened := self.opened) is not None:
            opened.close()
            self.opened = None

    def end_now(self) -> None:
        """Kill the JVM, unless other engines of this process use it."""
        self.given_up.set()
        if (opened := self.opened) is not None:
            opened.end_now()

"""Sessions of the console's token that ended before their cookie expires.

    log out ─▶ memory ─▶ DATA/console-ended-sessions: a line `EXPIRY ID` each, mode 0600

The server keeps no sessions of the token (`console_token`), so it keeps those that must not be
accepted any more, until they would have expired. The file makes a logout outlast a restart. If it
cannot be read, all sessions of before are considered ended, and clients need the token again. If
there are too many, those that expire first end together, whether their clients have logged out or
not.

Threads: the event loop; `save` runs on any thread, one call at a time.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from duolog.core.clock import Clock

logger = logging.getLogger(__name__)

FILE: Final = "console-ended-sessions"
ENDED_MAX: Final = 10_000
Write = Callable[[Path, str], None]


class EndedSessions:
    """The ended sessions of one token.

    Args:
        clock: decides when an ended session can be forgotten.
        path: the file; None to keep them in memory only.
        write: replaces a file as a whole.
        life_s: the longest life of a session, in seconds.
    """

    def __init__(self, clock: Clock, path: Path | None, write: Write, life_s: float) -> None:
        self._clock = clock
        self._path = path
        self._write = write
        self._expiries: dict[str, int] = {}
        self._all_until = 0
        """Sessions that expire until then have ended, in seconds since 1970."""
        self._saving = threading.Lock()
        if path is not None:
            self._load(path, life_s)

    def add(self, session: str, expiry: int) -> None:
        """End a session; call `save` afterwards."""
        self._expiries[session] = expiry
        now = self._now()
        self._expiries = {one: until for one, until in self._expiries.items() if until > now}
        if len(self._expiries) > ENDED_MAX:
            self._all_until = max(self._all_until, min(self._expiries.values()))
            kept = self._expiries.items()
            self._expiries = {one: until for one, until in kept if until > self._all_until}

    def has(self, session: str, expiry: int) -> bool:
        """Return whether a session has ended."""
        return session in self._expiries or expiry <= self._all_until

    def save(self) -> None:
        """Write the file.

        A failure is logged: the session has ended, but could be used again after a restart.
        """
        if self._path is None:
            return
        with self._saving:
            lines = [f"{self._all_until} *", *(f"{e} {s}" for s, e in list(self._expiries.items()))]
            try:
                self._write(self._path, "\n".join(lines))
            except OSError as error:
                logger.warning(
                    "the end of a session is not saved: a restart would make its cookie valid",
                    extra={"file": str(self._path), "error": error.strerror},
                )

    def _load(self, path: Path, life_s: float) -> None:
        try:
            for line in path.read_text(encoding="ascii").splitlines():
                expiry, session = line.split(" ")
                if session == "*":
                    self._all_until = int(expiry)
                else:
                    self._expiries[session] = int(expiry)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            # A session that begins in this second is a new one: opening the server took longer.
            self._all_until = self._now() + round(life_s) - 1
            logger.warning(
                "the file of ended sessions cannot be read: open the console by its token again",
                extra={"file": str(path), "error": str(error)},
            )

    def _now(self) -> int:
        return self._clock.now_ms() // 1000

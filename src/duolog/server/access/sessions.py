"""Sessions of browsers: a random cookie in place of a password with each request.

    login (password or token) ─▶ cookie ─▶ client ── logout, IDLE_S, LIFE_S, credential changed ─▶ ∅

The server keeps a digest of the cookie only. The cookie is HttpOnly, so that scripts cannot read
it, and SameSite=Strict, so that pages of other sites cannot use it (`session_cookie`). Sessions end
when the server stops, and as soon as a credential of their user changes: a removed user has no
session left.

Thread: the event loop.
Source: RFC 6265bis.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from duolog.core.clock import Clock
from duolog.security.identity.principal import Identity

LIFE_S: Final = 12 * 3600.0
IDLE_S: Final = 3600.0
SESSIONS_MAX: Final = 10_000
_BYTES: Final = 32


class _Session(NamedTuple):
    identity: Identity
    epoch: object
    ends_at: float
    seen_at: float


class Sessions:
    """The sessions of one server.

    Args:
        epoch: returns a value that changes with every credential of a user.
    """

    def __init__(self, clock: Clock, epoch: Callable[[str], object]) -> None:
        self._clock = clock
        self.epoch = epoch
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()

    def begin(self, identity: Identity, epoch: object) -> str:
        """Return the cookie of a new session.

        `epoch` is that of the moment before the password was checked. If a credential of the user
        has changed since, the session has ended already.
        """
        token = secrets.token_urlsafe(_BYTES)
        now = self._clock.monotonic()
        if len(self._sessions) >= SESSIONS_MAX:
            self._sessions.popitem(last=False)
        self._sessions[_digest(token)] = _Session(identity, epoch, now + LIFE_S, now)
        return token

    def identity(self, token: str, host: str) -> Identity | None:
        """Return who a cookie belongs to, at the address of now; None if it is not valid."""
        digest = _digest(token)
        session = self._sessions.get(digest)
        if session is None:
            return None
        now = self._clock.monotonic()
        over = now >= session.ends_at or now - session.seen_at >= IDLE_S
        if over or session.epoch != self.epoch(session.identity.principal.name):
            del self._sessions[digest]
            return None
        self._sessions[digest] = session._replace(seen_at=now)
        self._sessions.move_to_end(digest)
        return session.identity._replace(host=host)

    def lasts(self, token: str) -> bool:
        """Return whether a session has not ended; this does not prolong it."""
        session = self._sessions.get(_digest(token))
        return (
            session is not None
            and self._clock.monotonic() < session.ends_at
            and session.epoch == self.epoch(session.identity.principal.name)
        )

    def end(self, token: str) -> None:
        """End a session; do nothing if there is none."""
        self._sessions.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

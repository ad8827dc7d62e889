"""The token that opens the console of a server without users, and the cookie it is exchanged for.

    DATA/console-token ─▶ URL that the server prints ─▶ POST /session ─▶ cookie ─▶ requests

The file has mode 0600 and survives a restart, so that a bookmark and an open page stay valid.
Remove it and restart the server to make both invalid. The cookie is `EXPIRY.ID.HMAC-SHA256` with
the token as key: the server keeps nothing of it, so that a page that reconnects after a restart is
still logged in. A session that its client ends is kept in `ended_sessions`.

Thread: the event loop.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from duolog.core.clock import Clock
from duolog.core.errors import ConfigError
from duolog.core.operating_system.files import sync
from duolog.server.access import ended_sessions
from duolog.server.access.ended_sessions import EndedSessions
from duolog.server.access.sessions import LIFE_S

FILE: Final = "console-token"
_BYTES: Final = 32
_ID_BYTES: Final = 12
_SHORTEST: Final = 32
"""Characters of a token: a file with fewer is damaged."""


class ConsoleToken:
    """One token, and the cookies that were signed with it.

    Args:
        text: the token.
        clock: decides when cookies expire.
        data: the directory for sessions that have ended; None to keep them in memory only.
    """

    def __init__(self, text: str, clock: Clock, data: Path | None = None) -> None:
        self.text = text
        self._key = text.encode()
        self._clock = clock
        path = None if data is None else data / ended_sessions.FILE
        self._ended = EndedSessions(clock, path, _write, LIFE_S)

    @property
    def scope(self) -> str:
        """A text that distinguishes this token from others, and does not reveal it."""
        return hmac.new(self._key, b"duolog console scope", hashlib.sha256).hexdigest()

    @classmethod
    def of_directory(cls, data: Path, clock: Clock) -> "ConsoleToken":
        """Return the token in a data directory; the first call makes it.

        Raises:
            ConfigError: the file cannot be read or written, or is damaged.
        """
        path = data / FILE
        try:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                _write(path, secrets.token_urlsafe(_BYTES))
            text = path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError as error:
            raise ConfigError(
                f'the token of the console in "{path}" cannot be read or written',
                name="data",
                detail=f"{error.strerror}.",
                hint="Choose another directory with --data, or correct its owner and mode.",
            ) from error
        if len(text) < _SHORTEST or not (text.isascii() and text.isprintable() and " " not in text):
            raise ConfigError(
                f'the token of the console in "{path}" is damaged',
                name="data",
                detail=f"Expected at least {_SHORTEST} characters without spaces.",
                hint="Remove the file: the next start makes a new token.",
            )
        return cls(text, clock, data)

    def matches(self, text: str) -> bool:
        """Return whether a text is the token."""
        return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), self._key)

    def cookie(self) -> str:
        """Return the cookie of a new session, valid for `LIFE_S` seconds from now."""
        expiry = self._clock.now_ms() // 1000 + round(LIFE_S)
        signed = f"{expiry}.{secrets.token_urlsafe(_ID_BYTES)}"
        return f"{signed}.{self._signature(signed)}"

    def accepts(self, cookie: str) -> bool:
        """Return whether a cookie is that of a session of this token which has not ended."""
        found = self._session(cookie)
        if found is None:
            return False
        session, expiry = found
        return expiry > self._clock.now_ms() // 1000 and not self._ended.has(session, expiry)

    def end(self, cookie: str) -> bool:
        """End the session of a cookie; return whether it was one. Call `save` afterwards."""
        found = self._session(cookie)
        if found is not None:
            self._ended.add(*found)
        return found is not None

    def save(self) -> None:
        """Write ended sessions to the disk; blocks."""
        self._ended.save()

    def _session(self, cookie: str) -> tuple[str, int] | None:
        """Return id and expiry of a session; None if this token has not signed the cookie."""
        signed, _, signature = cookie.rpartition(".")
        given = signature.encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(given, self._signature(signed).encode()):
            return None
        expiry, _, session = signed.partition(".")
        return session, int(expiry)

    def _signature(self, signed: str) -> str:
        message = f"duolog console session {signed}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a new file that only its owner may read: whole, or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        sync(file.fileno())
    new.replace(path)

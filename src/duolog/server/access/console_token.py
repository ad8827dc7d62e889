"""The token that opens the console of a server without users, and the cookie it is exchanged for.

    DATA/console-token ─▶ URL that the server prints ─▶ POST /session ─▶ cookie ─▶ requests

The file has mode 0600 and survives a restart, so that a bookmark and an open page stay valid.
Remove it and restart the server to make both invalid. The cookie is `EXPIRY.HMAC-SHA256` with the
token as key: the server keeps nothing of it, so that a page that reconnects after a restart is
still logged in.

Thread: any; nothing changes after the start.
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
from duolog.server.access.sessions import LIFE_S

FILE: Final = "console-token"
_BYTES: Final = 32
_SHORTEST: Final = 32
"""Characters of a token: a file with fewer is damaged."""


class ConsoleToken:
    """One token, and the cookies that were signed with it.

    Args:
        text: the token.
        clock: decides when cookies expire.
    """

    def __init__(self, text: str, clock: Clock) -> None:
        self.text = text
        self._key = text.encode()
        self._clock = clock

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
        return cls(text, clock)

    def matches(self, text: str) -> bool:
        """Return whether a text is the token."""
        return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), self._key)

    def cookie(self) -> str:
        """Return a cookie that is valid for `LIFE_S` seconds from now."""
        expiry = str(self._clock.now_ms() // 1000 + round(LIFE_S))
        return f"{expiry}.{self._signature(expiry)}"

    def accepts(self, cookie: str) -> bool:
        """Return whether a cookie was signed with this token and has not expired."""
        expiry, _, signature = cookie.partition(".")
        given = signature.encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(given, self._signature(expiry).encode()):
            return False
        return int(expiry) > self._clock.now_ms() // 1000

    def _signature(self, expiry: str) -> str:
        message = f"duolog console session {expiry}".encode("utf-8", "surrogatepass")
        # 192 bits: the cookie stays below the 64 characters that `cookie_of` reads.
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:48]


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

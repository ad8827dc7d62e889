"""The TLS of one listener, which follows its settings and files without a restart.

A new context is made of the settings and files as they are, and serves the connections from then
on; open ones keep theirs. If it cannot be made, the old one stays.

Threads: any, one at a time; `context` may be read from all.
"""

import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from duolog.core.errors import ConfigError
from duolog.security.identity.mapping_rules import MappingRules
from duolog.security.tls.contexts import server_context, warn_of_expiry
from duolog.security.tls.settings import TlsSettings

if TYPE_CHECKING:
    import ssl

logger = logging.getLogger(__name__)

_NO_FILES: Final[Mapping[str, tuple[int, int, int]]] = MappingProxyType({})


class ListenerTls:
    """The context and the mapping rules of a listener."""

    def __init__(
        self, listener: str, read: Callable[[], TlsSettings], *, then_sasl: bool = False
    ) -> None:
        """Load them; `read` returns the settings as they are now.

        `then_sasl` is True if the handshake does not end the authentication of a client.

        Raises:
            ConfigError: a key, a certificate or a setting is missing or cannot be used.
        """
        self.listener = listener
        self.then_sasl = then_sasl
        self._read = read
        self._seen: Mapping[str, tuple[int, int, int]] = _NO_FILES
        self.context: ssl.SSLContext
        self.rules: MappingRules
        self.client_auth: str
        self.expires_at: datetime
        self.reload()

    def reload(self) -> None:
        """Load everything again.

        Raises:
            ConfigError: it cannot be used; then nothing has changed.
        """
        settings = self._read()
        seen = _signatures(settings)
        made = server_context(settings, self.listener)
        self.rules = MappingRules(settings.mapping_rules)
        self.context, self.expires_at = made
        self.client_auth = settings.client_auth
        self._seen = seen
        self._warned_on = datetime.now(UTC).date()

    def try_reload(self) -> bool:
        """Load everything again, or keep what there is and log why; return whether it was done."""
        try:
            self.reload()
        except ConfigError as error:
            self._seen = _signatures(self._read())  # One log line for each change.
            logger.error(  # noqa: TRY400  The error is for an operator, without a trace.
                "certificates are not reloaded; the old ones stay",
                extra={"listener": self.listener, "error": error.one_line()},
            )
            return False
        logger.info(
            "reloaded certificates",
            extra={"listener": self.listener, "expires_at": str(self.expires_at)},
        )
        return True

    def follow_files(self, now: datetime | None = None) -> None:
        """Reload if a file has changed since it was read; once a day, warn of the expiry."""
        if _signatures(self._read()) != self._seen:
            self.try_reload()
        now = now or datetime.now(UTC)
        if now.date() != self._warned_on:
            self._warned_on = now.date()
            warn_of_expiry(self.listener, self.expires_at, now)


def _signatures(settings: TlsSettings) -> Mapping[str, tuple[int, int, int]]:
    found = {}
    for path in settings.files:
        try:
            status = os.stat(path)  # noqa: PTH116  A link to another file is another file.
        except OSError:
            found[path] = (0, 0, 0)
        else:
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found

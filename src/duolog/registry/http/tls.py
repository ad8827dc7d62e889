"""HTTPS: the certificate of the registry, and new ones without a restart.

Every handshake takes the context of that moment. The files are looked at every ten seconds, and on
SIGHUP (`reload`).

Source: Python `ssl.SSLContext.sni_callback`.
"""

from typing import TYPE_CHECKING, Final

from duolog.security.tls.reloading import ListenerTls
from duolog.security.tls.settings import TlsSettings

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Sequence
    from pathlib import Path

_LOOK_S: Final = 10.0


class RegistryTls:
    """The certificate of one server."""

    def __init__(
        self,
        certificate: "Path",
        key: "Path | None" = None,
        *,
        server: str = "registry",
        protocols: "Sequence[str]" = (),
    ) -> None:
        """Load the PEM files; without `key`, the private key is next to the certificate.

        `server` names the server in the log; `protocols` are those of ALPN (RFC 7301).

        Raises:
            ConfigError: a file cannot be used.
        """
        self._protocols = list(protocols)
        settings = TlsSettings(str(certificate), key_location=str(key) if key else "")
        self._tls = ListenerTls(server, lambda: settings)
        # The one that asyncio holds: a handshake leaves it for the newest.
        self.context = self._tls.context
        self.context.sni_callback = self._newest
        if self._protocols:
            self.context.set_alpn_protocols(self._protocols)

    def follow_files(self, loop: "asyncio.AbstractEventLoop") -> None:
        """Start to look for changed files."""
        loop.call_later(_LOOK_S, self._look, loop)

    def reload(self) -> None:
        """Load the files again; an error is logged, and the old certificate stays."""
        self._tls.try_reload()

    def _look(self, loop: "asyncio.AbstractEventLoop") -> None:
        self._tls.follow_files()
        self.follow_files(loop)

    def _newest(
        self, handshake: "ssl.SSLObject", _host: str | None, _context: "ssl.SSLContext"
    ) -> None:
        context = self._tls.context
        if self._protocols:
            context.set_alpn_protocols(self._protocols)
        handshake.context = context

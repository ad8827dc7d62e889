"""HTTPS for the endpoint of metrics; new certificates without a restart.

The files are looked at when a client connects, at most every ten seconds.

Threads: any.
"""

import socket
from threading import Lock
from time import monotonic
from typing import Final

from duolog.security.tls.reloading import ListenerTls
from duolog.security.tls.settings import TlsSettings

_LOOK_S: Final = 10.0


class EndpointTls:
    """The certificate of an endpoint."""

    def __init__(self, certificate: str, key: str = "") -> None:
        """Load the PEM files; without `key`, the private key is in the file of the certificate.

        Raises:
            ConfigError: a file cannot be used.
        """
        settings = TlsSettings(certificate, key_location=key)
        self._tls = ListenerTls("metrics", lambda: settings)
        self._looked_at = monotonic()
        self._lock = Lock()

    def wrap(self, accepted: socket.socket, timeout_s: float) -> socket.socket:
        """Shake hands with a client.

        Raises:
            OSError: the handshake failed, or took too long between two messages.
        """
        with self._lock:
            if monotonic() - self._looked_at >= _LOOK_S:
                self._looked_at = monotonic()
                self._tls.follow_files()
            context = self._tls.context
        accepted.settimeout(timeout_s)
        return context.wrap_socket(accepted, server_side=True)

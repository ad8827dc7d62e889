"""A listening socket: accepts connections within the limits of the settings.

Connections over loopback are not paced: congestion control has no use there, and if the system
uses bbr, its timers double the cost of a large fetch.

When the process has no file descriptors left, accepting pauses for a second instead of running
in a busy loop, and resumes when connections have been closed. It also pauses while connections come
at a higher rate than `max.connection.creation.rate` allows.
"""

import errno
import logging
import os
import socket
from typing import TYPE_CHECKING, Final

from duolog.broker.network.endpoints import PLAINTEXT
from duolog.broker.network.late_closes import LateCloses
from duolog.core.listening import is_loopback, plain_host
from duolog.core.operating_system.polling import READ
from duolog.core.operating_system.sockets import set_buffer_size, unpace

if TYPE_CHECKING:
    from duolog.broker.network.endpoints import OpenEndpoint
    from duolog.broker.network.needs import Broker

logger = logging.getLogger(__name__)

_ACCEPTS_MAX: Final = 64
_PAUSE_S: Final = 1.0
_BUFFERS: Final = (
    (socket.SO_SNDBUF, "socket.send.buffer.bytes"),
    (socket.SO_RCVBUF, "socket.receive.buffer.bytes"),
)
_NO_DESCRIPTORS: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Listener:
    """Accepts connections for a broker."""

    def __init__(self, broker: "Broker", endpoint: "OpenEndpoint") -> None:
        self._broker = broker
        self._endpoint = endpoint
        self._socket = endpoint.listening
        self._fd = self._socket.fileno()
        self._open = True
        self._late = LateCloses(broker.timers)
        self._accepted_bytes: dict[tuple[int, int], int] = {}
        """The size that the system accepts, by option and wanted size of a buffer."""
        self._socket.settimeout(0)
        broker.loop.register(self._fd, READ, self._on_ready)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._broker.loop.modify(self._fd, 0)
            self._broker.loop.unregister(self._fd)
            self._socket.close()
            self._late.close()

    def _on_ready(self, _events: int) -> None:
        for _ in range(_ACCEPTS_MAX):
            try:
                accepted, address = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _NO_DESCRIPTORS:
                    self._pause(error)
                    return
                continue
            if address is None:  # macOS accepts a connection that its client has reset already.
                accepted.close()
                continue
            if not self._broker.spare_descriptors.refill():
                # Logs have had to use what is kept for them: they come first.
                accepted.close()
                self._pause(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
                return
            host = plain_host(address[0])
            self._admit(accepted, host, f"{host}:{address[1]}")
            throttle_s = self._broker.connections.rates.of_all()
            if throttle_s:
                self._broker.loop.modify(self._fd, 0)
                self._broker.timers.call_later(throttle_s, self._resume)
                return

    def _admit(self, accepted: socket.socket, host: str, address: str) -> None:
        connections = self._broker.connections
        connections.accepted[self._endpoint.name] += 1
        reason = connections.refusal(host)
        if reason is not None:
            accepted.close()
            connections.refused += 1
            fields = {"client": address, "reason": reason}
            connections.lines.log(logger, logging.WARNING, "refused a connection", fields)
            return
        throttle_s = connections.rates.of_address(host)
        if throttle_s:
            connections.refused += 1
            self._late.add(accepted, throttle_s)
            fields = {"client": address, "seconds": f"{throttle_s:g}"}
            connections.lines.log(logger, logging.INFO, "throttled a connection", fields)
            return
        try:
            accepted.settimeout(0)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if is_loopback(host):
                unpace(accepted)
            for option, name in _BUFFERS:
                size_bytes = self._broker.settings.integer(name)
                if size_bytes > 0:
                    self._set_buffer_size(accepted, option, name, size_bytes)
            connection = self._broker.make_connection(
                accepted, address, self._endpoint.advertised, self._endpoint.name
            )
        except OSError as error:
            # The client is gone already, or the kernel watches no further socket.
            accepted.close()
            fields = {"client": address, "error": str(error)}
            connections.lines.log(logger, logging.WARNING, "cannot serve a client", fields)
            return
        connections.add(connection)
        if self._endpoint.protocol != PLAINTEXT:
            connections.unauthenticated.add(connection)

    def _set_buffer_size(
        self, accepted: socket.socket, option: int, name: str, wanted_bytes: int
    ) -> None:
        """Set the size of a buffer; log once if the system allows less."""
        known = self._accepted_bytes.get((option, wanted_bytes))
        size_bytes = set_buffer_size(accepted, option, known or wanted_bytes)
        if known is None:
            self._accepted_bytes[option, wanted_bytes] = size_bytes
            if size_bytes < wanted_bytes:
                logger.warning(
                    "the system allows only a smaller socket buffer",
                    extra={"setting": name, "wanted_bytes": wanted_bytes, "bytes": size_bytes},
                )

    def _pause(self, error: OSError) -> None:
        logger.warning("cannot accept connections now", extra={"error": str(error)})
        self._broker.loop.modify(self._fd, 0)
        self._broker.timers.call_later(_PAUSE_S, self._resume)

    def _resume(self) -> None:
        if self._open:
            self._broker.loop.modify(self._fd, READ)

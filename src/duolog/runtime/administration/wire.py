"""A connection for Kafka APIs that librdkafka does not have, such as those of quotas.

It sends one request at a time and waits for the response. TLS and logins are those of
`ClientSecurity`, like those of other clients.
"""

import socket
import ssl
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from kio.serial import entity_reader

from duolog.core.addresses import split_address, whole_servers
from duolog.core.errors import ConfigError, KafkaError
from duolog.protocol.encoder import encoder
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.headers import is_flexible
from duolog.protocol.messages import entity_type
from duolog.protocol.wire import write_string
from duolog.runtime.administration.sasl_login import login_of
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity

_TIMEOUT_S: Final = 10.0
_CLIENT_ID: Final = "duolog"
_HANDSHAKE, _AUTHENTICATE = (17, 1), (36, 2)
_TRANSPORT: Final = -195


class Wire:
    """A connection to the first server of a cluster that accepts it.

    Raises:
        KafkaError: no broker can be reached, or it refuses the login or closes the connection.
        ConfigError: an address, or the client's certificate, is invalid.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._servers = whole_servers(brokers.servers)
        self._socket = _connected(self._servers, brokers.security)
        self._correlation_id = 0
        if brokers.security is not None and brokers.security.has_login:
            try:
                self._log_in(brokers.security)
            except BaseException:
                self._socket.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, key: int, version: int, /, **fields: Any) -> Any:
        """Send a request and return the response, as kio's entity of this version."""
        self._correlation_id += 1
        head = key.to_bytes(2) + version.to_bytes(2) + self._correlation_id.to_bytes(4)
        head += write_string(_CLIENT_ID, flexible=False)
        flexible = is_flexible(key, version)
        body = encoder(entity_type(key, version, "request"))(fields)
        content = head + (b"\0" if flexible else b"") + body
        try:
            self._socket.sendall(len(content).to_bytes(4) + content)
            answer = self._exactly(int.from_bytes(self._exactly(4)))
        except (OSError, EOFError) as error:
            raise KafkaError(
                f"the broker at {self._servers} closed the connection",
                code=_TRANSPORT,
                retriable=True,
                detail=str(error),
                hint="Read its log. Check that it serves this API: Kafka does from 2.6 on.",
            ) from error
        entity, _ = entity_reader(entity_type(key, version, "response"))(
            answer[5 if flexible else 4 :], 0
        )
        return entity

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _log_in(self, security: ClientSecurity) -> None:
        answer = self.ask(*_HANDSHAKE, mechanism=security.mechanism)
        if answer.error_code:
            raise _refused(answer.error_code, f"it offers {', '.join(answer.mechanisms)}")
        login = login_of(security)
        message: bytes | None = next(login)
        while message is not None:
            answer = self.ask(*_AUTHENTICATE, auth_bytes=message)
            if answer.error_code:
                raise _refused(answer.error_code, answer.error_message)
            try:
                message = login.send(answer.auth_bytes)
            except StopIteration:
                message = None


def _refused(code: int, reason: str | None) -> KafkaError:
    return KafkaError(
        "the broker refused the login",
        code=code,
        detail=f"{ErrorCode(code).name}: {reason or 'no reason given'}",
        hint="Check sasl.mechanism, sasl.username and sasl.password.",
    )


def _connected(servers: str, security: ClientSecurity | None) -> socket.socket:
    problems = []
    for server in servers.split(","):
        host, port = split_address(server)
        try:
            connection = socket.create_connection((host, port), timeout=_TIMEOUT_S)
            if security is None or not security.encrypts:
                return connection
            return _context(security).wrap_socket(connection, server_hostname=host)
        except OSError as error:
            problems.append(f"{server}: {error}")
    raise KafkaError(
        f"no broker can be used at {servers}",
        code=_TRANSPORT,
        retriable=True,
        detail="; ".join(problems),
        hint="Check the address, and the certificates.",
    )


def _context(security: ClientSecurity) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=security.authorities or None)
    context.check_hostname = security.verifies_host
    if security.chain:
        with tempfile.TemporaryDirectory() as directory:  # OpenSSL takes only names of files.
            file = Path(directory) / "client.pem"
            file.touch(0o600)
            file.write_text(f"{security.key}\n{security.chain}\n")
            try:
                context.load_cert_chain(file, password=security.key_password or None)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    "the client's certificate cannot be used",
                    name="ssl.certificate.location",
                    detail=str(error),
                    hint="Check the certificate, its key, and the password of the key.",
                ) from error
    return context

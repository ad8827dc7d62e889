"""Requests to a registry at one of several addresses, with retries.

    http://user:password@first:8081,http://second:8081/path

The addresses are tried in order, starting with the one that answered last. An address that does not
answer, or answers 429 or 5xx, is followed by the next one; after the last one the client waits and
starts again. Any thread may send requests.

The user of an address is found in this order:

    in the address
    duolog.schemas.registry_users      users that settings of this process have
    DUOLOG_SCHEMA_REGISTRY_TOKEN       a bearer token, for every other address
    DUOLOG_SCHEMA_REGISTRY_USER_INFO   name:password, for every other address

An https address is verified with the authorities of the system, or with those in the PEM file that
DUOLOG_SCHEMA_REGISTRY_CA_FILE names.
"""

import http.client
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from duolog.core.errors import ConfigError, RegistryError
from duolog.registry.client.answers import unexpected
from duolog.registry.json_text import Json, dump, load
from duolog.schemas import registry_users
from duolog.schemas.source import RegistryAwayError, RegistryLoginError

TIMEOUT_S: Final = 10.0
ROUNDS: Final = 3
FIRST_PAUSE_S: Final = 0.2
ANSWER_BYTES_MAX: Final = 64 * 2**20
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_LOGIN: Final = (401, 403)
_NOT_FOUND: Final = 404
_TOO_MANY: Final = 429
_BROKEN: Final = 500
_HINT: Final = "Check that it runs, and that ksql.schema.registry.url is its address."
_NO_HEADERS: Final[Mapping[str, str]] = {}
USER_VARIABLE: Final = "DUOLOG_SCHEMA_REGISTRY_USER_INFO"
TOKEN_VARIABLE: Final = "DUOLOG_SCHEMA_REGISTRY_TOKEN"  # noqa: S105 - a name
AUTHORITIES_VARIABLE: Final = "DUOLOG_SCHEMA_REGISTRY_CA_FILE"
_USER_HINT: Final = (
    "Give name and password of a user: in SQL as ksql.schema.registry.basic.auth.user.info, to "
    f"commands as --registry-user, or to both in the environment variable {USER_VARIABLE}. A token "
    f"is in {TOKEN_VARIABLE}."
)
_UNVERIFIED: Final = "certificate verify failed"
_NOT_TLS: Final = "WRONG_VERSION_NUMBER"
_CLOSED: Final = "closed connection without response"
_UNVERIFIED_HINT: Final = (
    "Give the authority that signed the registry's certificate as a PEM file: to commands as "
    f"--registry-ca-file, or to all in the environment variable {AUTHORITIES_VARIABLE}. The "
    "certificate must name the host of the address."
)
_REFUSED_HINTS: Final = {
    401: _USER_HINT,
    403: _USER_HINT,
    409: "Compare the schemas with `duolog schema diff`, or change the level with `duolog schema "
    "config SUBJECT --compatibility LEVEL`.",
}


class Answer(NamedTuple):
    """An answer: the status and the parsed body."""

    status: int
    body: Json


class Refused(RegistryError):
    """A request that the registry refuses.

    Attributes:
        code: the registry's number of the error.
    """

    def __init__(self, message: str, code: int, *, hint: str = "") -> None:
        super().__init__(
            message, detail=f"The schema registry answers with error code {code}.", hint=hint
        )
        self.code = code


class LoginRefused(Refused, RegistryLoginError):
    """A registry that refuses the user of a request: HTTP status 401 or 403."""


class Unanswered(RegistryAwayError):
    """No address of a registry answers, or the registry cannot answer now.

    Attributes:
        code: the status of HTTP for a service that is unavailable.
    """

    code: Final = 503


@dataclass(frozen=True, slots=True)
class Address:
    """One address of a registry.

    Attributes:
        shown: the address without user and password.
        user: `name:password`, if the address had a user.
        token: a bearer token, in place of a user.
        authorities: PEM file of the trusted certificates; None for the environment's.
    """

    shown: str
    secure: bool
    host: str
    port: int | None
    path: str
    user: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    authorities: Path | None = None

    @property
    def authorization(self) -> str:
        """The header of its user, who may have changed since the last request; or empty."""
        known = self.user or ("" if self.token else registry_users.user_of(self.shown))
        token = self.token or os.environ.get(TOKEN_VARIABLE, "").strip()
        if not known and token:
            return f"Bearer {token}"
        return registry_users.authorization(known or os.environ.get(USER_VARIABLE))


def addresses_of(text: str) -> tuple[Address, ...]:
    """Return the addresses of a text, separated by commas.

    Raises:
        ConfigError: one of them is not an HTTP address.
    """
    return tuple(map(_address, registry_users.parts_of(text))) or (_address(""),)


def _address(text: str) -> Address:
    shown, user = registry_users.without_user(text)
    shown = shown.rstrip("/")
    try:
        parts = urlsplit(shown)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f'the address "{shown}" of a schema registry is not an HTTP address',
            hint="Write it as http://host:8081.",
        )
    return Address(shown, parts.scheme == "https", parts.hostname, port, parts.path, user)


Send = Callable[[Address, str, str, str | None], Answer]
"""Sends a request to an address: method, path and body. Raises OSError or ValueError."""


def send(
    address: Address,
    method: str,
    path: str,
    body: str | None,
    *,
    timeout_s: float = TIMEOUT_S,
    more: Mapping[str, str] = _NO_HEADERS,
) -> Answer:
    """Send a request over a connection of its own, and return the answer.

    Args:
        address: the address of the registry.
        method: the method.
        path: the path below the address, with its parameters.
        body: the body in JSON; None for a request without one.
        timeout_s: the time to wait for the connection, and for each part of the answer.
        more: headers in addition.

    Raises:
        OSError: the address does not answer.
        ValueError: the answer is not JSON, or too long.
    """
    connection = _connection(address, timeout_s)
    headers = {"Accept": _CONTENT_TYPE, **more}
    if body is not None:
        headers["Content-Type"] = _CONTENT_TYPE
    if authorization := address.authorization:
        headers["Authorization"] = authorization
    try:
        given = None if body is None else body.encode()
        connection.request(method, address.path + path, given, headers)
        response = connection.getresponse()
        data = response.read(ANSWER_BYTES_MAX + 1)
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()
    if len(data) > ANSWER_BYTES_MAX:
        raise ValueError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
    return Answer(response.status, load(data) if data.strip() else None)


def _connection(address: Address, timeout_s: float) -> http.client.HTTPConnection:
    """Return a connection to an address, not yet opened.

    Raises:
        ConfigError: the file of authorities cannot be read.
    """
    if not address.secure:
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    named = address.authorities or os.environ.get(AUTHORITIES_VARIABLE) or None
    try:
        # Read for each connection, so that a renewed file counts; answers are cached for ever.
        context = ssl.create_default_context(cafile=None if named is None else str(named))
    except OSError as error:
        raise ConfigError(
            f'the file of authorities "{named}" of the schema registry cannot be read',
            detail=f"{error}.",
            hint=f"Check --registry-ca-file or {AUTHORITIES_VARIABLE}.",
        ) from error
    return http.client.HTTPSConnection(
        address.host, address.port, timeout=timeout_s, context=context
    )


class Requests:
    """Sends requests to one of several addresses.

    Args:
        addresses: the addresses, the preferred one first.
        send: sends a request to an address.
        pause: waits for a number of seconds.
        hint: the hint of the error if no address answers.
        rounds: the number of times that all addresses are tried.
    """

    def __init__(
        self,
        addresses: tuple[Address, ...],
        send: Send = send,
        pause: Callable[[float], None] = time.sleep,
        hint: str = _HINT,
        rounds: int = ROUNDS,
    ) -> None:
        self._addresses = addresses
        self._send = send
        self._pause = pause
        self._hint = hint
        self._rounds = rounds
        self._first = 0

    def get(self, path: str) -> Json:
        """Return the body of the answer to GET.

        Raises:
            Refused: the registry refuses the request.
            Unanswered: no address answers.
        """
        return self._ask("GET", path, None)

    def post(self, path: str, body: Json) -> Json:
        """Return the body of the answer to POST; see `get` for the errors."""
        return self._ask("POST", path, dump(body))

    def put(self, path: str, body: Json) -> Json:
        """Return the body of the answer to PUT; see `get` for the errors."""
        return self._ask("PUT", path, dump(body))

    def delete(self, path: str) -> Json:
        """Return the body of the answer to DELETE; see `get` for the errors."""
        return self._ask("DELETE", path, None)

    def _ask(self, method: str, path: str, body: str | None) -> Json:
        failures: dict[str, str] = {}
        for number in range(self._rounds):
            if number:
                self._pause(FIRST_PAUSE_S * 2 ** (number - 1))
            for at in range(len(self._addresses)):
                index = (self._first + at) % len(self._addresses)
                address = self._addresses[index]
                try:
                    answer = self._send(address, method, path, body)
                except (OSError, ValueError) as error:
                    failures[address.shown] = _told(error)
                    continue
                if answer.status == _TOO_MANY or answer.status >= _BROKEN:
                    failures[address.shown] = _unavailable(answer)
                    continue
                self._first = index
                return _accepted(answer)
        raise Unanswered(
            "the schema registry does not answer",
            detail="; ".join(f"{address}: {why}" for address, why in failures.items()),
            hint=_hint_about(failures) or self._hint,
        )


def _hint_about(failures: dict[str, str]) -> str:
    """Return the hint for failures of TLS; empty if they are about something else."""
    text = str(failures)
    if _UNVERIFIED in text:
        return _UNVERIFIED_HINT
    if _NOT_TLS in text:
        return "The registry does not speak TLS at this address: write http:// instead of https://."
    if any(_CLOSED in why and address.startswith("http://") for address, why in failures.items()):
        return "If the registry speaks TLS at this address, write https:// instead of http://."
    return ""


def _told(error: Exception) -> str:
    # OpenSSL's text names the check that failed; the system's only that TLS did.
    told = error.strerror if isinstance(error, OSError) else None
    return told or str(error) or type(error).__name__


def _unavailable(answer: Answer) -> str:
    """Return why the registry cannot answer now, in its own words if it gives any."""
    message = answer.body.get("message") if isinstance(answer.body, dict) else None
    told = f": {message}" if isinstance(message, str) else ""
    return f"HTTP status {answer.status}{told}"


def _accepted(answer: Answer) -> Json:
    if 200 <= answer.status < 300:
        return answer.body
    body = answer.body if isinstance(answer.body, dict) else {}
    code, message = body.get("error_code"), body.get("message")
    if answer.status == _NOT_FOUND and not isinstance(code, int):
        # A proxy, or another server at this address: nothing is known about what was asked for.
        raise unexpected(answer.body)
    kind = LoginRefused if answer.status in _LOGIN else Refused
    raise kind(
        message if isinstance(message, str) else f"the schema registry answers {answer.status}",
        code if isinstance(code, int) else answer.status,
        hint=_REFUSED_HINTS.get(answer.status, ""),
    )

"""HTTP to one server, for threads and for asyncio.

Lines end with a line feed only: other separators of Unicode are part of values.

A query whose rows may come at any time has no timeout. If its server is gone without closing the
connection, TCP's keep-alive ends it after about two minutes.
"""

import re
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from duolog.client.errors import InterfaceError, OperationalError

if TYPE_CHECKING:
    import httpx2

CONNECT_S: Final = 10.0
KEEPALIVE: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
        if hasattr(socket, name)
    ),
]
"""Options of sockets, in seconds and probes."""
_HEADERS: Final = {"User-Agent": "duolog-client", "Prefer": "row-batches"}
"""This client finds the lines of rows itself: see `duolog.server.http.lines`."""
_NOT_IN_A_TOKEN: Final = re.compile(r"[^!-~]")


@dataclass(frozen=True, slots=True)
class Address:
    """A server, and who the client is.

    Attributes:
        url: `http://HOST:PORT` or `https://…`, with the base path if there is one.
        user, password: for basic authentication; empty for none.
        token: a bearer token; empty for none.
        authorities: a PEM file of authorities to trust; None for those of the system.
        timeout_s: for the answer to a statement that is not a query; None waits for as long as it
            takes.
    """

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    authorities: Path | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not _has_port(parts):
            raise InterfaceError(
                f'"{self.url}" is not the address of a server',
                hint="Use http://HOST:PORT or https://HOST:PORT.",
            )
        if parts.username or parts.password:
            raise InterfaceError(
                "the address contains a user or a password",
                hint="Give them as user=… and password=…; an address is written to logs.",
            )
        self._ensure_login()

    def _ensure_login(self) -> None:
        if self.token and (self.user or self.password):
            raise InterfaceError(
                "both a token and a user are given", hint="Give user=… and password=…, or token=…."
            )
        if (self.password and not self.user) or ":" in self.user:
            raise InterfaceError(
                "the user has a colon in its name"
                if self.user
                else "a password is given without a user",
                hint="Give user=… and password=….",
            )
        # The HTTP library would show the token in its error.
        if (found := _NOT_IN_A_TOKEN.search(self.token)) is not None:
            raise InterfaceError(
                "the token contains a character that tokens cannot have",
                detail=f"It is character {found.start() + 1} of {len(self.token)}.",
                hint="Remove spaces and line feeds, for instance with strip().",
            )

    def settings(self) -> dict[str, object]:
        """Return the arguments of an HTTP client, and of its transport as `transport`.

        Raises:
            InterfaceError: the file of authorities cannot be read.
        """
        import httpx2  # noqa: PLC0415 - keeps `import duolog` fast

        transport: dict[str, object] = {
            "trust_env": False,
            "socket_options": KEEPALIVE,
            # Each running query has a connection; the next one must not wait for their end.
            "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        }
        settings: dict[str, object] = {
            "transport": transport,
            "base_url": self.url.rstrip("/"),
            "timeout": httpx2.Timeout(self.timeout_s, connect=CONNECT_S),
            "headers": _HEADERS,
            # Proxies of the environment are for the internet; a server is usually next to us.
            "trust_env": False,
        }
        if self.token:
            settings["headers"] = {**_HEADERS, "Authorization": f"Bearer {self.token}"}
        elif self.user:
            settings["auth"] = (self.user, self.password)
        if self.authorities is not None:
            try:
                transport["verify"] = ssl.create_default_context(cafile=self.authorities)
            except OSError as error:
                raise InterfaceError(
                    f'the authorities in "{self.authorities}" cannot be read',
                    detail=f"{error.strerror or error}.",
                ) from error
        return settings


def _has_port(parts: SplitResult) -> bool:
    """Return false if the port of an address is not one."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def unreachable(address: Address, error: Exception) -> OperationalError:
    """Return the error of a connection that failed or was lost."""
    return OperationalError(
        f"no answer from {address.url}",
        detail=f"{error or type(error).__name__}".rstrip(".") + ".",
        hint="Name the authority of its certificate: duolog.connect(url, authorities=FILE)."
        if is_untrusted(error)
        else "Check that the server runs and the address is right.",
    )


def is_untrusted(error: Exception) -> bool:
    """Return true if a connection failed because the server's certificate is not trusted.

    The HTTP library has no error of its own for that.
    """
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


def lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a body, without empty ones."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest


async def lines_async(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a body, without empty ones."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
    if rest.strip():
        yield rest


def open_client(address: Address) -> "httpx2.Client":
    """Return a client for threads."""
    import httpx2  # noqa: PLC0415 - as above

    settings: dict[str, Any] = address.settings()
    settings["transport"] = httpx2.HTTPTransport(**settings["transport"])
    return httpx2.Client(**settings)


def open_async_client(address: Address) -> "httpx2.AsyncClient":
    """Return a client for asyncio."""
    import httpx2  # noqa: PLC0415 - as above

    settings: dict[str, Any] = address.settings()
    settings["transport"] = httpx2.AsyncHTTPTransport(**settings["transport"])
    return httpx2.AsyncClient(**settings)


def without_timeout(connect_s: float = CONNECT_S) -> Mapping[str, object]:
    """Return arguments of a request whose rows may come at any time."""
    import httpx2  # noqa: PLC0415 - as above

    return {"timeout": httpx2.Timeout(None, connect=connect_s)}

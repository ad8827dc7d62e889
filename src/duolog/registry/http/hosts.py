"""Protection from web pages: the headers Host and Origin.

A page that a browser on this machine shows can send requests to a registry on loopback. With DNS
rebinding it can even read the answers, because the browser believes that the registry belongs to
the page's own host. Two checks prevent this:

    Host      an address, a name that public DNS cannot contain, or a name that is listed
    Origin    absent (no browser sends a request without it across sites), or a listed host

Names that public DNS cannot contain have no dot, or end with `.localhost`, `.local`, `.internal`
or `.svc`.
"""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

_NAME: Final = re.compile("[a-z0-9._-]*")
_PRIVATE_ENDS: Final = (".localhost", ".local", ".internal", ".svc")


class AllowedHosts:
    """The hosts under which clients may address this registry."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower().rstrip(".") for name in names)
        self._allows = lru_cache(maxsize=256)(self._decide)

    def allows_host(self, header: str | None) -> bool:
        """Return whether a request with this header Host may be answered."""
        return header is not None and self._allows(header)

    def allows_origin(self, header: str | None) -> bool:
        """Return whether a request with this header Origin may be answered."""
        if header is None:
            return True
        try:
            parts = urlsplit(header)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and self._is_listed(parts.hostname or "")

    def _decide(self, header: str) -> bool:
        host = _without_port(header)
        return host is not None and (
            _is_address(host)
            or self._is_listed(host)
            or (host != "" and ("." not in host or host.endswith(_PRIVATE_ENDS)))
        )

    def _is_listed(self, host: str) -> bool:
        return host.lower().rstrip(".") in self._names


def _without_port(header: str) -> str | None:
    """Return the host in lower case; None if the header is not `HOST` or `HOST:PORT`."""
    text = header.strip().lower()
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        valid = bracket and _is_address(host) and (not port or _is_port(port))
        return host if valid else None
    host, colon, port = text.partition(":")
    if (colon and not _is_port(f":{port}")) or not _NAME.fullmatch(host):
        return None
    return host.rstrip(".")


def _is_port(text: str) -> bool:
    return text.startswith(":") and text[1:].isascii() and (text == ":" or text[1:].isdigit())


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True

"""Parts of URLs, as Java's URI parses them; missing parts are null, invalid URLs ValueErrors."""

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote_plus, unquote, unquote_plus

_SCHEME: Final = re.compile("[A-Za-z][A-Za-z0-9+.-]*")
_BROKEN: Final = re.compile("%(?![0-9a-fA-F]{2})")
_ILLEGAL: Final = re.compile(
    r"[\x00-\x20\x7f-\xa0\"<>\\^`{|}\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
_SERVER: Final = re.compile(
    r"(?:[^@\[\]]*@)?(?P<host>\[[0-9A-Fa-f:.%]+\]|\d+\.\d+\.\d+\.\d+|"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?)"
    r"(?::(?P<port>\d*))?"
)


class Uri(NamedTuple):
    """Parts of a URL, not decoded."""

    scheme: str | None
    host: str | None
    port: int | None
    path: str | None
    query: str | None
    fragment: str | None


@lru_cache(1000)
def uri(text: str) -> Uri:
    """Parse a URL.

    Example:
        >>> uri("http://me@a.b:80/c?d#e")
        Uri(scheme='http', host='a.b', port=80, path='/c', query='d', fragment='e')
    """
    if _ILLEGAL.search(text) or _BROKEN.search(text):
        raise ValueError(text)
    before, hashed, behind = text.partition("#")
    fragment = behind if hashed else None
    if "#" in behind:
        raise ValueError(text)
    scheme, rest = _scheme(before)
    if scheme is not None and not rest.startswith("/"):
        if not rest:
            raise ValueError(text)
        return Uri(scheme, None, None, None, None, fragment)
    rest, asked, query = rest.partition("?")
    host, port = None, None
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        if not authority and not rest and not asked:
            raise ValueError(text)
        host, port = _server(authority)
    if "[" in rest or "]" in rest:
        raise ValueError(text)
    return Uri(scheme, host, port, rest, query if asked else None, fragment)


def _scheme(text: str) -> tuple[str | None, str]:
    found = re.match("([^:/?#]*):", text)
    if found is None:
        return None, text
    if not _SCHEME.fullmatch(found[1]):
        raise ValueError(text)
    return found[1], text[found.end() :]


def _server(authority: str) -> tuple[str | None, int | None]:
    """Return host and port; None for an authority without a valid host name, as in Java."""
    found = _SERVER.fullmatch(authority)
    if found is None:
        return None, None
    return found["host"], int(found["port"]) if found["port"] else None


def encode(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


def decode(text: str) -> str:
    if _BROKEN.search(text):
        raise ValueError(text)
    return unquote_plus(text)


def protocol(url: str) -> str | None:
    return uri(url).scheme


def host(url: str) -> str | None:
    return uri(url).host


def port(url: str) -> int | None:
    return uri(url).port


def path(url: str) -> str | None:
    return _decoded(uri(url).path)


def query(url: str) -> str | None:
    return _decoded(uri(url).query)


def fragment(url: str) -> str | None:
    return _decoded(uri(url).fragment)


def parameter(url: str, name: str) -> str | None:
    """Return the value of a parameter, both decoded; a plus stays a plus."""
    for one in (uri(url).query or "").split("&"):
        key, given, value = one.partition("=")
        if unquote(key) == name and uri(url).query is not None:
            return unquote(value) if given else None
    return None


def _decoded(part: str | None) -> str | None:
    return None if part is None else unquote(part)

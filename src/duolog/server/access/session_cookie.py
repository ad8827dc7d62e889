"""The cookie of a session: its name, and its form in the headers Cookie and Set-Cookie.

    duolog_session_3f0c9a1be27d4410            HTTP
    __Host-duolog_session_3f0c9a1be27d4410     HTTPS
    __Secure-duolog_session_3f0c9a1be27d4410   HTTPS with a base path

Browsers send a cookie to all ports of a host, and a proxy may serve several servers on one port. So
the name has a digest of the host and port that the client addresses, of the base path, and of
`ServerAccess.cookie_scope`, which is another one for each server. Two servers do not overwrite each
other's cookies, and each reads its own only.

A browser accepts the names with a prefix over HTTPS only, so that a page of the same host that is
not encrypted cannot replace the cookie. `__Host-` also excludes other subdomains, but needs the
path `/`.

Source: RFC 6265bis, sections 4.1.3 and 5.6; Jupyter names its cookies by host and port, too.
"""

import hashlib
from functools import lru_cache
from typing import Final, NamedTuple

_FAMILY: Final = "duolog_session_"
_DIGITS: Final = 16
_CHARACTERS_MAX: Final = 128
_TRIED_MAX: Final = 8
"""Cookies of one name that are tried. A browser sends several if they have different paths."""
_NAMES: Final = 1024
"""Names that are remembered; a client may address a server by any host of a list."""


class SessionCookie(NamedTuple):
    """The cookie of one server, for clients that address it the same way.

    Attributes:
        name: as in the class's module.
        path: the prefix of the paths to which browsers send it.
        secure: whether browsers send it over HTTPS only.
    """

    name: str
    path: str
    secure: bool

    def tokens(self, header: str | None) -> tuple[str, ...]:
        """Return the values of this cookie in a header Cookie, in its order.

        Example:
            >>> SessionCookie("x", "/", secure=False).tokens("a=1; x=2; x=; x=3; xx=4")
            ('2', '3')
        """
        pairs = [part.strip().partition("=") for part in (header or "").split(";")]
        found = [value for name, _, value in pairs if name == self.name]
        return tuple(one for one in found if 0 < len(one) <= _CHARACTERS_MAX)[:_TRIED_MAX]

    def set(self, token: str, life_s: float) -> str:
        """Return the header Set-Cookie that makes a browser keep a token for some time."""
        flags = f"Path={self.path}; HttpOnly; SameSite=Strict; Max-Age={round(life_s)}"
        return f"{self.name}={token}; {flags}{'; Secure' if self.secure else ''}"

    def removal(self) -> str:
        """Return the header Set-Cookie that makes a browser forget the cookie."""
        return self.set("", 0)


@lru_cache(_NAMES)
def session_cookie(host: str, base_path: str, scope: str, *, secure: bool) -> SessionCookie:
    """Return the cookie of a server.

    Args:
        host: the header Host of the request: the host and port that the client addresses.
        base_path: the prefix of all paths of the server.
        scope: see `ServerAccess.cookie_scope`.
        secure: whether the client uses HTTPS.
    """
    place = "\0".join((host.lower(), base_path, scope))
    digest = hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    prefix = "" if not secure else "__Secure-" if base_path else "__Host-"
    return SessionCookie(f"{prefix}{_FAMILY}{digest}", base_path or "/", secure)

"""Finds the API for a key and a version.

The files of `apis/` are looked up once at start. A key or version that is not there closes the
connection, as Kafka does; only ApiVersions answers whatever version it is asked for, because a
client asks it to learn the versions.
"""

import re
from collections import defaultdict
from collections.abc import Collection
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from duolog.broker.requests.api import Api
from duolog.core.units import INT32_MAX, KIB
from duolog.protocol.errors import UnsupportedRequest
from duolog.protocol.headers import API_VERSIONS, is_flexible

_LOGIN: Final = frozenset({17, 36})
_BEFORE_LOGIN: Final = _LOGIN | {API_VERSIONS}
"""SaslHandshake, SaslAuthenticate and ApiVersions."""
_FILE: Final = re.compile(r"k\d+_")
_APIS: Final = "duolog.broker.apis"
"""By name: these are in a layer above the broker, and import what they work on."""


def find_apis() -> tuple[Api, ...]:
    """Return the `API` of each file of `apis/`, by key."""
    package = import_module(_APIS)
    names = (module.name for module in iter_modules(package.__path__))
    found = [import_module(f"{_APIS}.{name}").API for name in names if _FILE.match(name)]
    return tuple(sorted(found, key=lambda api: int(api.key)))


class Router:
    """The served APIs by key and version, and whether the version is flexible."""

    frame_bytes_max: int = INT32_MAX
    """A larger request closes its connection; the broker's setting may allow less."""

    def __init__(self, served: tuple[Api, ...]) -> None:
        self.apis: Final = served
        self.routes: Final = {
            route_code(api.key, version): (api, is_flexible(api.key, version))
            for api in served
            for version in api.versions
        }
        self.counts: Final = defaultdict[int, int](int)
        """Requests so far of each `route_code`; connections add to it."""
        self._api_versions = next((api for api in served if api.key == API_VERSIONS), None)

    def find(self, code: int) -> tuple[Api, bool]:
        """Return what handles the request with this `route_code`.

        Raises:
            UnsupportedRequest: the key or the version is not served.
        """
        route = self.routes.get(code)
        if route is not None:
            return route
        key, version = code >> 16, (code & 0xFFFF ^ 0x8000) - 0x8000
        if key == API_VERSIONS and self._api_versions is not None:
            return self._api_versions, is_flexible(key, version)
        raise UnsupportedRequest("unsupported request", detail=f"api key {key} version {version}")


class Gate(Router):
    """The APIs of a client that has not logged in; any other request closes its connection."""

    frame_bytes_max = 128 * KIB
    """More than any login: so a thousand clients without one cannot fill `RequestMemory`."""

    def __init__(self, router: Router, keys: Collection[int]) -> None:
        super().__init__(tuple(api for api in router.apis if api.key in keys))

    def find(self, code: int) -> tuple[Api, bool]:
        """Return what handles the request with this `route_code`.

        Raises:
            UnsupportedRequest: the client must log in first, or the version is not served.
        """
        if code >> 16 in (api.key for api in self.apis):
            return super().find(code)
        raise UnsupportedRequest("request before authentication", detail=f"api key {code >> 16}")


class Entrances:
    """The APIs that clients may use: all of them, or those to log in first, or again."""

    def __init__(self, router: Router) -> None:
        self.open: Final = router
        self.gate: Final = Gate(router, _BEFORE_LOGIN)
        """For a client that has not logged in."""
        self.again: Final = Gate(router, _LOGIN)
        """For a client whose session has expired."""
        self.gated: set[str] = set()
        """The listeners whose clients log in."""

    def of(self, listener: str) -> Router:
        """Return the APIs that a new client of a listener may use."""
        return self.gate if listener in self.gated else self.open

    def all(self) -> tuple[Router, ...]:
        """Return the three tables."""
        return self.open, self.gate, self.again


def route_code(key: int, version: int) -> int:
    """Return key and version as the one number that the first four bytes of a request are."""
    return key << 16 | version & 0xFFFF

"""Finds the API for a key and a version.

The files of `apis/` are looked up once at start. A key or version that is not there closes the
connection, as Kafka does; only ApiVersions answers whatever version it is asked for, because a
client asks it to learn the versions.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from duolog.broker import apis
from duolog.broker.api import Api
from duolog.protocol.errors import UnsupportedRequest
from duolog.protocol.headers import API_VERSIONS


def find_apis() -> tuple[Api, ...]:
    """Return the `API` of each file of `apis/`, by key."""
    names = sorted(module.name for module in iter_modules(apis.__path__))
    found = [import_module(f"{apis.__name__}.{name}").API for name in names]
    return tuple(sorted(found, key=lambda api: int(api.key)))


class Router:
    """The served APIs by key and version."""

    def __init__(self, served: tuple[Api, ...]) -> None:
        self.apis: Final = served
        self._by_version = {(api.key, version): api for api in served for version in api.versions}
        self._api_versions = next((api for api in served if api.key == API_VERSIONS), None)

    def find(self, key: int, version: int) -> Api:
        """Return the API that handles the request.

        Raises:
            UnsupportedRequest: the key or the version is not served.
        """
        api = self._by_version.get((key, version))
        if api is not None:
            return api
        if key == API_VERSIONS and self._api_versions is not None:
            return self._api_versions
        raise UnsupportedRequest("unsupported request", detail=f"api key {key} version {version}")

"""Trusted proxies, and the prefix of all paths.

A request of a trusted proxy is one of the client that the proxy names in X-Forwarded-For, over the
protocol in X-Forwarded-Proto. Of several addresses, the last that is not a trusted proxy counts.
"""

import ipaddress
import re
from collections.abc import Sequence
from typing import Any, Final

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from duolog.core.errors import ConfigError

_BASE: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def behind_proxies(application: Any, proxies: Sequence[str]) -> Any:
    """Return an ASGI application that sees clients of trusted proxies.

    Raises:
        ConfigError: a proxy is not an address or a network.
    """
    if not proxies:
        return application
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise ConfigError(
                f'"{proxy}" is not an address of a proxy',
                name="trusted-proxy",
                value=proxy,
                detail=str(error),
                hint="Write an IP address such as 10.0.0.7, or a network such as 10.0.0.0/24.",
            ) from None
    return ProxyHeadersMiddleware(application, trusted_hosts=list(proxies))


def checked_base_path(text: str) -> str:
    """Return a prefix of paths without a slash at its end.

    Raises:
        ConfigError: it is not the path of a URL.

    Example:
        >>> checked_base_path("/sql/"), checked_base_path("/")
        ('/sql', '')
    """
    path = text.rstrip("/")
    if not _BASE.fullmatch(path) or {".", ".."} & set(path.split("/")):
        raise ConfigError(
            f'"{text}" is not a prefix of paths',
            name="base-path",
            value=text,
            hint="Write for example /sql: letters, digits and . _ ~ - between slashes.",
        )
    return path

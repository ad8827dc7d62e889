"""Parse broker addresses and normalize `bootstrap.servers` for all Kafka clients.

    kafka, [::1]:9093   ->   kafka:9092,[::1]:9093

librdkafka adds a missing port, but the Java clients reject the address. Therefore clients always
get complete addresses.
"""

import ipaddress
import re
from typing import Final

from duolog.core.errors import ConfigError

PORT: Final = 9092
_PORT_MAX: Final = 65535
_ADDRESS: Final = re.compile(
    r"(?P<protocol>[A-Za-z0-9_]+://)?(?P<host>\[[0-9A-Fa-f:.]+(?:%[^\]]+)?\]|[^\s:/\[\]]+)(?::(?P<port>[0-9]{1,5}))?"
)


def whole_servers(given: str) -> str:
    """Return a comma-separated list of servers, each with its port.

    Example:
        >>> whole_servers("kafka, [::1]:9093")
        'kafka:9092,[::1]:9093'

    Raises:
        ConfigError: the list is empty, or an address is invalid.
    """
    servers = [server.strip() for server in given.split(",") if server.strip()]
    if not servers:
        raise ConfigError(
            "no broker address is given",
            name="bootstrap.servers",
            value=given,
            hint="Write HOST:PORT.",
        )
    return ",".join(_whole(server) for server in servers)


def split_address(server: str) -> tuple[str, int]:
    """Return the host and port of `[PROTOCOL://]HOST[:PORT]`.

    Example:
        >>> split_address("PLAINTEXT://kafka:9093"), split_address("[::1]:9092")
        (('kafka', 9093), ('::1', 9092))

    Raises:
        ConfigError: the address is invalid.
    """
    _, host, port = _parts(server)
    return host.strip("[]"), port


def _whole(server: str) -> str:
    protocol, host, port = _parts(server)
    return f"{protocol}{host}:{port}"


def _parts(server: str) -> tuple[str, str, int]:
    found = _ADDRESS.fullmatch(server)
    port = int(found["port"] or PORT) if found else 0
    if found is None or not 1 <= port <= _PORT_MAX:
        raise ConfigError(
            f'"{server}" is not a broker address',
            name="bootstrap.servers",
            value=server,
            hint=f"Write [{server}]:{PORT}, with brackets around an IPv6 address."
            if _is_v6(server)
            else f"Write HOST:PORT, or a comma-separated list. The default port is {PORT}.",
        )
    return found["protocol"] or "", found["host"], port


def _is_v6(server: str) -> bool:
    try:
        return ipaddress.ip_address(server).version == 6
    except ValueError:
        return False

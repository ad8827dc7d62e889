"""Addresses to listen on, and the sockets that do: of the broker, the registry and metrics."""

import errno
import ipaddress
import socket
from functools import lru_cache
from typing import Final, NamedTuple

from duolog.core.errors import ConfigError
from duolog.core.operating_system.sockets import reuse_address

LOOPBACK = "127.0.0.1"
BACKLOG = 512
_HINTS: Final = {
    errno.EADDRINUSE: "Another program listens there, perhaps another broker: stop it, or take "
    "another port; port 0 takes a free one.",
    errno.EACCES: "Ports below 1024 want a privilege: take another one.",
    errno.EADDRNOTAVAIL: "Use an address of this machine. "
    "--advertise sets the address for clients.",
}
_SECURE_HINT: Final = "Listen on 127.0.0.1, or accept the risk with --insecure."
_DANGER: Final = "clients are not authenticated"


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, *, option: str) -> Address:
    """Read `HOST:PORT`.

    Raises:
        ConfigError: it is not of this form.

    Example:
        >>> parse_address("127.0.0.1:9092", option="listen")
        Address(host='127.0.0.1', port=9092)
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f'"{text}" is not an address', name=option, value=text, hint="Write HOST:PORT."
        )
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def advertised(listening: Address, given: str = "") -> Address:
    """Return the address of this process for others, where they can connect to it.

    It is the `given` one, with the port of `listening` if its own is 0. By default it is that of
    `listening`, with the name of this machine in place of all addresses (0.0.0.0). Source: ksqlDB's
    setting ksql.advertised.listener.

    Raises:
        ConfigError: the given one is not an address, or that of all addresses.

    Example:
        >>> str(advertised(Address("0.0.0.0", 8088), "db.example:0"))
        'db.example:8088'
    """
    if given:
        address = parse_address(given, option="advertise")
        if not address.host or _is_unspecified(address.host):
            raise ConfigError(
                f'others cannot connect to "{given}"',
                name="advertise",
                value=given,
                hint="Name this machine as others see it, such as db.example:8088.",
            )
        return address if address.port else Address(address.host, listening.port)
    if _is_unspecified(listening.host):
        return Address(socket.gethostname(), listening.port)
    return listening


def _is_unspecified(host: str) -> bool:
    return is_address(host) and ipaddress.ip_address(host).is_unspecified


def is_loopback(host: str) -> bool:
    """Return whether a numeric address is this machine's own."""
    return ipaddress.ip_address(host).is_loopback


def is_address(host: str) -> bool:
    """Return whether a text is an IP address, and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def plain_host(host: str) -> str:
    """Return an IP address in its usual form, so that two texts of one address are equal.

    A socket for both families reports clients of IPv4 as addresses of IPv6. Other texts are
    returned unchanged.

    Example:
        >>> plain_host("::ffff:10.0.0.7"), plain_host("2001:DB8:0:0:0:0:0:1"), plain_host("*")
        ('10.0.0.7', '2001:db8::1', '*')
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(getattr(address, "ipv4_mapped", None) or address)


def open_listener(
    address: Address,
    *,
    insecure: bool,
    backlog: int = BACKLOG,
    secure_hint: str = _SECURE_HINT,
    danger: str = _DANGER,
) -> socket.socket:
    """Return a socket that listens at `address`; port 0 takes a free one.

    `danger` and `secure_hint` explain the error about an address beyond loopback.

    Raises:
        ConfigError: the address is beyond loopback and `insecure` is False, or it cannot be had.
    """
    try:
        found = socket.getaddrinfo(address.host or LOOPBACK, address.port, type=socket.SOCK_STREAM)
        # IPv4 first: clients are asked to connect to it.
        family, *_, target = min(found, key=lambda row: row[0] != socket.AF_INET)
        if not insecure and not is_loopback(str(target[0])):
            raise ConfigError(
                f'address "{address}" is beyond loopback, and {danger}',
                name="listen",
                value=str(address),
                hint=secure_hint,
            )
        # asyncio sets TCP_NODELAY only if the protocol is named. Without it, the second part of a
        # response waits up to 40 ms for the client's acknowledgement of the first one.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise ConfigError(f'cannot use address "{address}"', detail=str(error)) from error
    try:
        reuse_address(listening)
        listening.bind(target)
        listening.listen(backlog)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f'cannot listen on "{address}"',
            name="listen",
            value=str(address),
            detail=str(error),
            hint=_HINTS.get(error.errno or 0, ""),
        ) from error
    return listening

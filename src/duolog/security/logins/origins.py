"""The part of a client's address that stands for one client in limits."""

import ipaddress
from typing import Final

_IPV6_PREFIX: Final = 64


def origin_of(host: str) -> str:
    """Return an address, or its network of 64 bits if it is of IPv6: a single client has them all.

    Example:
        >>> origin_of("192.0.2.7"), origin_of("2001:db8:1:2:3::4"), origin_of("::ffff:192.0.2.7")
        ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))

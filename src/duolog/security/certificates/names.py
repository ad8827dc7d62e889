"""The names that certificates are made for: hosts of servers, users of clients.

Source: RFC 5280 section 4.2.1.6; RFC 1123 section 2.1.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Final

from cryptography import x509

from duolog.core.errors import ConfigError

_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_HOST_LENGTH_MAX: Final = 253
_USER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
RESERVED: Final = ("ca", "server")
"""Names of files that are not those of clients."""


def host_names(hosts: Iterable[str]) -> list[x509.GeneralName]:
    """Return names and IP addresses as a certificate has them, each once.

    Raises:
        ConfigError: one is neither a host name nor an IP address.
    """
    return [_host_name(host) for host in dict.fromkeys(hosts)]


def hosts_of(certificate: x509.Certificate) -> Sequence[str]:
    """Return the names and IP addresses of a server's certificate."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in names]


def ensure_user(name: str) -> None:
    """Check the name of a client's certificate, which is also that of its file.

    Raises:
        ConfigError: it has other characters than letters, digits, `.`, `_` and `-`, or is reserved.
    """
    if not _USER.fullmatch(name) or name.lower() in RESERVED:
        raise ConfigError(
            f'"{name}" cannot be the name of a client',
            name="NAME",
            value=name,
            hint=f"Use up to 64 letters, digits, '.', '_' and '-'; not {' or '.join(RESERVED)}.",
        )


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        pass
    if not _HOST.fullmatch(host) or len(host) > _HOST_LENGTH_MAX:
        raise ConfigError(
            f'"{host}" is neither a host name nor an IP address',
            name="host",
            value=host,
            hint="Give the name or address that clients connect to, without a port.",
        )
    return x509.DNSName(host)

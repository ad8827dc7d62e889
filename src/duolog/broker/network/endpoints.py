"""The listeners of a broker: each has a name, an address and an advertised address for clients.

    listeners                       INTERNAL://127.0.0.1:9092,EXTERNAL://0.0.0.0:9093
    advertised.listeners            EXTERNAL://broker.example:9093
    listener.security.protocol.map  INTERNAL:PLAINTEXT,EXTERNAL:SSL

A client gets the advertised address of the listener that it is connected to: one inside a network
and one outside of it each get an address that they can reach. `--listen` and `--advertise` are the
short form for one listener, and may be repeated; an address without a name goes to the listener at
the same place of the order.

A listener is open beyond loopback only if it encrypts and authenticates (`Endpoint.danger`), or
with `--insecure`.

By default the broker advertises 127.0.0.1 and not `localhost`: some clients try IPv6 first and
wait.

Source: Kafka `SocketServerConfigs`, `KafkaConfig.validateValues`.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.settings.listener_prefix import listener_of
from duolog.core.errors import ConfigError
from duolog.core.listening import (
    BACKLOG,
    LOOPBACK,
    Address,
    is_loopback,
    open_listener,
    parse_address,
)

if TYPE_CHECKING:
    import socket

    from duolog.broker.settings import BrokerSettings

DEFAULT_LISTEN: Final = "127.0.0.1:9092"
PLAINTEXT: Final = "PLAINTEXT"
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"
PROTOCOLS: Final = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)
ENCRYPTED: Final = (SSL, SASL_SSL)
WITH_SASL: Final = frozenset({SASL_PLAINTEXT, SASL_SSL})
"""The protocols whose clients log in by SASL."""
_SECURE_HINT: Final = (
    "Listen on 127.0.0.1; or use SSL with ssl.client.auth=required, or SASL_SSL; or accept the "
    "risk with --insecure."
)

_NAMED: Final = re.compile(r"([A-Za-z0-9_.\-]+)://(.*)", re.DOTALL)
_LOCALHOST: Final = "localhost"


class Endpoint(NamedTuple):
    """A listener before its port is open; `advertised` is None if its own address is advertised."""

    name: str
    address: Address
    advertised: Address | None
    protocol: str = PLAINTEXT
    danger: str = ""
    """Why the listener is not safe beyond loopback; empty if it is."""


class OpenEndpoint(NamedTuple):
    """A listener whose socket listens."""

    name: str
    listening: "socket.socket"
    advertised: Address
    protocol: str = PLAINTEXT
    danger: str = ""

    @property
    def insecure(self) -> bool:
        """True if hosts other than this one can connect, and it is not safe that they do."""
        return bool(self.danger) and not is_loopback(self.bound.host)

    @property
    def bound(self) -> Address:
        """The address that the socket listens on."""
        return Address(*self.listening.getsockname()[:2])


def endpoints(
    settings: "BrokerSettings", listen: Sequence[str] = (), advertise: Sequence[str] = ()
) -> list[Endpoint]:
    """Return the listeners that the settings, or else the command line, ask for.

    Raises:
        ConfigError: an address or a name cannot be used, a name is there twice, or a setting is
            for a listener that is not there.
    """
    if listen and settings.text("listeners"):
        raise ConfigError(
            "--listen and the setting listeners are both given",
            name="listeners",
            hint="Keep one of them.",
        )
    wanted = listen or _items(settings.text("listeners")) or (DEFAULT_LISTEN,)
    addresses = _named(wanted, "listeners", defaults=None)
    told = advertise or _items(settings.text("advertised.listeners"))
    advertised = _named(told, "advertised.listeners", defaults=tuple(addresses))
    for name in advertised:
        if name not in addresses:
            raise ConfigError(
                f'there is no listener "{name}" to advertise an address for',
                name="advertised.listeners",
                value=name,
                hint=f"The listeners are {', '.join(addresses)}.",
            )
    _check_ports(addresses)
    by_name = _protocols(settings)
    _check_names(settings, {*addresses, *(by_name or ())})
    protocols = {name: _protocol(name, by_name) for name in addresses}
    return [
        Endpoint(
            name,
            address,
            _advertised(name, address, advertised.get(name)),
            protocols[name],
            danger_of(protocols[name], settings.of_listener(name, "ssl.client.auth")),
        )
        for name, address in addresses.items()
    ]


def open_endpoints(
    wanted: Sequence[Endpoint], *, insecure: bool, backlog: int = BACKLOG
) -> list[OpenEndpoint]:
    """Open the sockets of all listeners, or of none.

    Raises:
        ConfigError: an address is beyond loopback and `insecure` is False, or cannot be had.
    """
    opened: list[OpenEndpoint] = []
    try:
        for endpoint in wanted:
            listening = open_listener(
                endpoint.address,
                insecure=insecure or not endpoint.danger,
                backlog=backlog,
                secure_hint=_SECURE_HINT,
                danger=endpoint.danger,
            )
            host, port = listening.getsockname()[:2]
            told = endpoint.advertised or Address(host, port)
            opened.append(
                OpenEndpoint(
                    endpoint.name,
                    listening,
                    Address(told.host, told.port or port),
                    endpoint.protocol,
                    endpoint.danger,
                )
            )
    except BaseException:  # Also an interrupt: no socket stays open.
        for endpoint_open in opened:
            endpoint_open.listening.close()
        raise
    return opened


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _named(
    texts: Sequence[str], option: str, *, defaults: Sequence[str] | None
) -> dict[str, Address]:
    """Read `NAME://HOST:PORT`, or `HOST:PORT` with the name at the same position."""
    found: dict[str, Address] = {}
    for place, text in enumerate(texts):
        match = _NAMED.fullmatch(text)
        if match:
            name, rest = match[1].upper(), match[2]
        elif defaults is None:
            name, rest = PLAINTEXT if place == 0 else f"{PLAINTEXT}_{place + 1}", text
        elif place < len(defaults):
            name, rest = defaults[place], text
        else:
            raise ConfigError(
                f'address "{text}" belongs to no listener',
                name=option,
                value=text,
                hint="Give no more addresses to advertise than to listen on.",
            )
        if name in found:
            raise ConfigError(
                f'listener "{name}" is given twice',
                name=option,
                value=text,
                hint="Each listener has a name of its own: INTERNAL://HOST:PORT.",
            )
        found[name] = parse_address(rest, option=option)
    return found


def _check_ports(addresses: Mapping[str, Address]) -> None:
    """Refuse two listeners at one place: their hosts may be two names of it."""
    seen: dict[Address, str] = {}
    for name, address in addresses.items():
        other = seen.setdefault(address, name)
        if address.port and other != name:
            raise ConfigError(
                f'listeners "{other}" and "{name}" have the same address {address}',
                name="listeners",
                hint="Give each a port of its own.",
            )


def _check_names(settings: "BrokerSettings", listeners: Set[str]) -> None:
    """Refuse a setting for a listener that is not there: its name is probably misspelled.

    Kafka ignores such a setting, so that a misspelled `ssl.client.auth` leaves a listener open to
    clients without a certificate. Listeners of other processes, such as controllers, are named in
    `listener.security.protocol.map`. Settings that were stored at run time are not checked: they
    must not keep the broker from starting.
    """
    known = {name.lower() for name in listeners}
    for setting in settings.static:
        listener = listener_of(setting)
        # The name of a SASL mechanism may follow that of the listener.
        if listener and not any(f"{listener}.".startswith(f"{name}.") for name in known):
            raise ConfigError(
                f'there is no listener "{listener.upper()}"',
                name=setting,
                hint=f"The listeners are {', '.join(sorted(listeners))}.",
            )


def _protocols(settings: "BrokerSettings") -> dict[str, str] | None:
    """Return the security protocol by listener name; None if the setting is empty."""
    text = settings.text("listener.security.protocol.map")
    if not text:
        return None
    found: dict[str, str] = {}
    for item in _items(text):
        name, colon, protocol = item.partition(":")
        if not colon or protocol.upper() not in PROTOCOLS:
            raise ConfigError(
                f'"{item}" names no security protocol of a listener',
                name="listener.security.protocol.map",
                value=item,
                hint=f"Write NAME:PROTOCOL, where the protocol is one of {', '.join(PROTOCOLS)}.",
            )
        found[name.strip().upper()] = protocol.upper()
    return found


def _protocol(name: str, protocols: Mapping[str, str] | None) -> str:
    if protocols is None:
        protocol = name if name in PROTOCOLS else PLAINTEXT
    elif name in protocols:
        protocol = protocols[name]
    else:
        raise ConfigError(
            f'listener "{name}" has no security protocol',
            name="listener.security.protocol.map",
            hint=f"Add {name}:{PLAINTEXT}.",
        )
    return protocol


def danger_of(protocol: str, client_auth: str) -> str:
    """Return why a listener is not safe beyond loopback; empty if it is."""
    match protocol:
        case "PLAINTEXT":
            return "clients are not authenticated, and nothing is encrypted"
        case "SASL_PLAINTEXT":
            return "nothing is encrypted"
        case "SSL" if client_auth != "required":
            return "clients are not authenticated"
        case _:
            return ""


def _advertised(name: str, address: Address, told: Address | None) -> Address | None:
    """Return the advertised host, or None for the address that the host resolves to."""
    if told is None:
        if not _wildcard(address.host):
            return None
        hint = f"Say where clients reach it: --advertise HOST:PORT or {name}://HOST:PORT in \
advertised.listeners."
        told = address
    elif not _wildcard(told.host):
        # An IPv4 literal: librdkafka may resolve localhost to ::1, where the broker does not
        # listen.
        return Address(LOOPBACK, told.port) if told.host == _LOCALHOST else told
    else:
        hint = "Give a name or number that clients can connect to."
    raise ConfigError(
        f'listener "{name}" cannot advertise the address {told}: it leads nowhere',
        name="advertised.listeners",
        value=str(told),
        hint=hint,
    )


def _wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False

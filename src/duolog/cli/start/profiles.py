"""Profiles of `duolog start`: what the broker and its two servers are started with.

    dev    a listener without logins, on loopback only: the broker refuses other addresses
    team   TLS on all three, SCRAM and PLAIN at the broker, access control lists, and users of
           the broker at the registry and the SQL server

With team, the first start makes what is missing: an authority with a certificate, and the password
of the administrator. It never replaces either.
"""

import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duolog.broker.identity.bootstrap import Administrator, administrator_of, read_password
from duolog.cli.start.server_names import ensure_named
from duolog.core.errors import ConfigError
from duolog.core.listening import Address, is_address, is_loopback, parse_address
from duolog.core.operating_system.files import sync
from duolog.security.certificates.authority import (
    CA_CERTIFICATE,
    DAYS,
    DEFAULT_HOSTS,
    SERVER,
    Authority,
)

if TYPE_CHECKING:
    from duolog.cli.start.layout import Layout

ADMINISTRATOR: Final = "admin"
_PASSWORD_BYTES: Final = 16
_INSECURE: Final = "allow.insecure.listen"


@dataclass(frozen=True, slots=True)
class Profile:
    """Arguments of the three servers.

    Attributes:
        listen: the broker's listener, with its protocol.
        advertise: the broker's address for clients; empty for that of `listen`.
        settings: settings of the broker.
        https: options of the registry and the SQL server for HTTPS.
        registry_trust: options of the SQL server to trust the registry.
        authority: the file of the authority that signs the certificate of the servers.
        administrator: the first administrator; None if there are no users.
    """

    listen: str
    advertise: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    https: tuple[str, ...] = ()
    registry_trust: tuple[str, ...] = ()
    authority: Path | None = None
    administrator: Administrator | None = None


def dev(listen: str) -> Profile:
    """Return the profile for the machine of a developer."""
    parse_address(listen, option="broker-listen")
    return Profile(f"PLAINTEXT://{listen}")


def ensure_loopback(addresses: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Ensure that only this machine reaches servers without logins.

    Each server would refuse its address, too, after others have started, and with a hint at its own
    options.

    Args:
        addresses: addresses by the option that gives them.
        settings: settings of the broker, which may accept the risk.

    Raises:
        ConfigError: an address is not one, or is beyond loopback.
    """
    insecure = settings.get(_INSECURE, "").strip().lower() == "true"
    for option, text in addresses.items():
        host = parse_address(text, option=option).host
        if is_address(host) and not is_loopback(host) and not insecure:
            raise ConfigError(
                f'address "{text}" is beyond loopback, and profile dev has no logins',
                name=option,
                value=text,
                hint="Listen on 127.0.0.1; or add --profile team and --host NAME; or accept the "
                f"risk with --set {_INSECURE}=true.",
            )


def team(layout: "Layout", listen: str, hosts: tuple[str, ...]) -> Profile:
    """Return the profile for a team; make certificates and a password unless they exist.

    Args:
        layout: where they are.
        listen: the broker's address.
        hosts: names of this machine for clients, the advertised one first.

    Raises:
        ConfigError: a host cannot be used, or a file cannot be read.
    """
    address = parse_address(listen, option="broker-listen")
    hosts = tuple(host.removeprefix("[").removesuffix("]") for host in hosts)
    layout.create()
    if not (layout.certificates / SERVER).exists():
        _make_certificates(layout, hosts)
    ensure_named(layout.certificates / SERVER, hosts)
    certificate = str(layout.certificates / SERVER)
    authority = layout.certificates / CA_CERTIFICATE
    administrator = administrator_of() or _administrator(layout)
    _write_login(layout, address, hosts, administrator, str(authority))
    allowed = tuple(word for host in hosts for word in ("--allow-host", host))
    return Profile(
        f"SASL_SSL://{listen}",
        tuple(f"SASL_SSL://{Address(host, address.port)}" for host in hosts[:1]),
        {
            "authorizer.class.name": "acl",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
            "ssl.keystore.location": certificate,
        },
        ("--tls-cert", certificate, *allowed),
        ("--registry-ca-file", str(authority)),
        authority,
        administrator,
    )


def _make_certificates(layout: "Layout", hosts: tuple[str, ...]) -> None:
    """Make an authority and its certificates: all of them or, after a crash, none."""
    new = layout.root / ".certificates"
    shutil.rmtree(new, ignore_errors=True)
    Authority.create(new, hosts=(*hosts, *DEFAULT_HOSTS), client=ADMINISTRATOR, days=DAYS)
    try:
        new.rename(layout.certificates)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise ConfigError(
            f'cannot write certificates to "{layout.certificates}"',
            detail=f"{error.strerror}.",
            hint=f"Put a certificate with its key into {SERVER} there, or remove the directory.",
        ) from error


def _administrator(layout: "Layout") -> Administrator:
    """Return the administrator with the password in its file, which is made if it is missing."""
    if not layout.password.exists():
        _write(layout.password, secrets.token_hex(_PASSWORD_BYTES) + "\n")
    return Administrator(ADMINISTRATOR, read_password(layout.password, "data"))


def _write_login(
    layout: "Layout",
    address: Address,
    hosts: tuple[str, ...],
    administrator: Administrator,
    authority: str,
) -> None:
    """Write the settings of a client that logs in as the administrator, unless they exist."""
    if layout.login.exists():
        return
    host = hosts[0] if hosts else "localhost"
    # A free port is another one at each start: commands then need -b.
    servers = {"bootstrap.servers": str(Address(host, address.port))} if address.port else {}
    lines = {
        **servers,
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority,
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": administrator.user,
        "sasl.password": administrator.password,
    }
    _write(layout.login, "".join(f"{name}={value}\n" for name, value in lines.items()))


def _write(path: Path, text: str) -> None:
    """Write a new file that only its owner may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        sync(file.fileno())

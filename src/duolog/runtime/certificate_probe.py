"""Find out why a client does not accept the certificate of a broker.

librdkafka has one text for all reasons: an unknown authority, a wrong host name, an expired
certificate. OpenSSL knows the reason, and a handshake by Python's `ssl` has it.
"""

import socket
import ssl
from typing import Final

from duolog.core.addresses import split_address
from duolog.security.clients.client_security import ClientSecurity

_WITHIN_S: Final = 5.0


def why_unverified(security: ClientSecurity, servers: str) -> str:
    """Return OpenSSL's reason for the first server whose certificate is not accepted.

    Returns an empty string if none is refused, for example because only the address that the broker
    advertises is not in its certificate. Makes a handshake with each server, and waits for at most
    five seconds for each step; sends no login.
    """
    try:
        context = ssl.create_default_context(cadata=security.authorities or None)
    except (ssl.SSLError, ValueError):
        return ""
    context.check_hostname = security.verifies_host
    for server in servers.split(","):
        host, port = split_address(server.strip())
        try:
            with (
                socket.create_connection((host, port), timeout=_WITHIN_S) as connection,
                context.wrap_socket(connection, server_hostname=host),
            ):
                pass
        except ssl.SSLCertVerificationError as error:
            return f"{server.strip()}: {error.verify_message.rstrip('.')}"
        except OSError:
            continue  # A broker without the client's certificate refuses later: it is accepted.
    return ""


def unverified_hint(security: ClientSecurity, why: str) -> str:
    """Return what to do about a certificate that is not accepted, by OpenSSL's reason."""
    if "mismatch" in why:
        return (
            "Use one of the certificate's host names in bootstrap.servers, or make a certificate "
            "for this one: `duolog cert DIR --host NAME`."
        )
    if "expired" in why:
        return (
            "Renew the broker's certificate: `duolog cert renew DIR server`. Check the clock of "
            "this machine."
        )
    if "not yet valid" in why:
        return "Check the clocks of this machine and of the one that made the certificate."
    return (
        f"Check ssl.truststore.location (ssl.ca.location){security.where}: it must have the "
        "authority that signed the certificate. The certificate must name the host in "
        "bootstrap.servers."
    )

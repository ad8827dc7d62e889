"""Metrics of listeners that are open to others, of TLS, of certificates and of the audit log."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from duolog.broker.metrics.text import head, line, single

if TYPE_CHECKING:
    from duolog.broker.broker import Broker


def security_lines(broker: "Broker") -> Iterator[str]:
    """Yield them as Prometheus text."""
    name = "duolog_listener_insecure"
    yield head(name, "gauge", "1 if others can connect, and it is not safe that they do.")
    for endpoint in broker.endpoints:
        yield line(name, {"listener": endpoint.name}, int(endpoint.insecure))
    clients = broker.connections.unauthenticated
    yield single(
        "duolog_connections_unauthenticated",
        "gauge",
        "Connections whose TLS handshake or authentication is not finished.",
        len(clients),
    )
    name = "duolog_connections_unauthenticated_closed_total"
    yield head(name, "counter", "Those that were closed, because of the time or their number.")
    yield line(name, {"limit": "time"}, clients.expired)
    yield line(name, {"limit": "number"}, clients.evicted)
    name = "duolog_tls_handshakes_total"
    yield head(name, "counter", "TLS handshakes that are finished.")
    yield line(name, {"result": "succeeded"}, clients.succeeded)
    yield line(name, {"result": "failed"}, clients.failed)
    yield single(
        "duolog_audit_lines_lost_total",
        "counter",
        "Lines of the audit log that are not in its topic.",
        0 if broker.security.audit.topic is None else broker.security.audit.topic.lost,
    )
    name = "duolog_tls_certificate_expires_seconds"
    yield head(name, "gauge", "When the certificate of a listener expires, in Unix time.")
    for tls in broker.tls:
        yield line(name, {"listener": tls.listener}, int(tls.expires_at.timestamp()))

"""Listeners with TLS follow their settings; a change that cannot be used or is unsafe is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import certificates
from certificates import Certificates
from duolog.broker.metrics.security import security_lines
from duolog.broker.network.endpoints import OpenEndpoint, endpoints, open_endpoints
from duolog.broker.network.tls_listeners import TlsListeners
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.protocol.error_codes import ErrorCode
from unit.broker.conftest import Client, Harness

BROKER, SET, DELETE = 4, 0, 1
KEYSTORE = "listener.name.out.ssl.keystore.location"
CLIENT_AUTH = "listener.name.out.ssl.client.auth"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@pytest.fixture
def opened(
    open_harness: Callable[..., Harness], files: Certificates
) -> Iterator[Callable[[str], Harness]]:
    """Start a broker with a TLS listener at an address, which asks for client certificates."""
    listening: list[OpenEndpoint] = []

    def start(address: str) -> Harness:
        harness = open_harness(
            listeners=f"OUT://{address}",
            advertised_listeners="OUT://broker.example:1",
            listener_security_protocol_map="OUT:SSL",
            listener_name_out_ssl_client_auth="required",
            listener_name_out_ssl_keystore_location=str(files.server),
            ssl_truststore_location=str(files.ca),
        )
        settings = harness.broker.settings
        # As the process does, with what is given at the start.
        found = open_endpoints(endpoints(BrokerSettings(settings.static)), insecure=False)
        listening.extend(found)
        default, own = dict(settings.default), dict(settings.own)
        settings.change(default={}, own={})
        harness.broker.tls = TlsListeners(settings, found)
        settings.change(default=default, own=own)
        harness.broker.endpoints = found
        return harness

    yield start
    for endpoint in listening:
        endpoint.listening.close()


def alter(client: Client, name: str, value: str | None) -> Any:
    config = {"name": name, "config_operation": SET if value else DELETE, "value": value}
    answer = client.ask(
        *(44, 1),
        resources=[{"resource_type": BROKER, "resource_name": "0", "configs": [config]}],
        validate_only=False,
    )
    return answer.responses[0]


def test_a_listener_beyond_loopback_cannot_stop_to_authenticate_at_run_time(
    opened: Callable[[str], Harness],
) -> None:
    """A configuration at run time must not open what the start would have refused."""
    harness = opened("0.0.0.0:0")
    client = harness.client()

    for value in ("none", "requested"):
        answer = alter(client, CLIENT_AUTH, value)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert "beyond loopback, and clients are not authenticated" in answer.error_message
    assert harness.broker.settings.of_listener("OUT", "ssl.client.auth") == "required"


def test_what_was_relaxed_on_loopback_does_not_open_a_network_at_the_next_start(
    opened: Callable[[str], Harness],
) -> None:
    """Settings of run time are loaded after the start has checked those that it was given."""
    first = opened("127.0.0.1:0")
    assert alter(first.client(), CLIENT_AUTH, "none").error_code == 0
    first.stop()
    harness = opened("0.0.0.0:0")
    tls, endpoints_open = harness.broker.tls, harness.broker.endpoints

    with pytest.raises(ConfigError, match="beyond loopback, and clients are not authenticated"):
        harness.broker.start(endpoints_open, tls)


def test_a_keystore_of_run_time_that_is_gone_does_not_stop_the_next_start(
    opened: Callable[[str], Harness],
    tmp_path: Path,
    files: Certificates,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As in Apache Kafka, the listener then shows the certificate that it was started with."""
    other = certificates.make(tmp_path / "other")
    first = opened("127.0.0.1:0")
    assert alter(first.client(), KEYSTORE, str(other.server)).error_code == 0
    first.stop()
    moved = other.server.rename(tmp_path / "moved.pem")
    harness = opened("127.0.0.1:0")
    tls = harness.broker.tls.get("OUT")
    assert tls is not None
    of_start = tls.context

    harness.broker.tls.use_earlier_changes()

    assert tls.context is of_start
    assert tls.client_auth == "required"
    assert any("the old ones stay" in record.message for record in caplog.records)
    moved.rename(other.server)
    harness.broker.tls.settings_changed(set())
    assert tls.context is not of_start, "the file is back"


@pytest.mark.parametrize("name", ["truststore.location", "client.auth"])
def test_authorities_of_run_time_that_are_gone_stop_the_next_start(
    opened: Callable[[str], Harness], tmp_path: Path, name: str
) -> None:
    """With those of the start, clients could connect that were locked out at run time."""
    other = certificates.make(tmp_path / "other")
    first = opened("127.0.0.1:0")
    client = first.client()
    if name == "client.auth":
        assert alter(client, CLIENT_AUTH, "requested").error_code == 0
        assert alter(client, KEYSTORE, str(other.server)).error_code == 0
        gone = other.server
    else:
        trust = "listener.name.out.ssl.truststore.location"
        assert alter(client, trust, str(other.ca)).error_code == 0
        gone = other.ca
    first.stop()
    gone.unlink()
    harness = opened("127.0.0.1:0")
    tls = harness.broker.tls

    with pytest.raises(ConfigError, match="cannot check client certificates") as raised:
        harness.broker.start(harness.broker.endpoints, tls)

    assert str(gone) in raised.value.detail
    assert "Restore the file" in raised.value.hint


def test_on_loopback_it_can(opened: Callable[[str], Harness]) -> None:
    harness = opened("127.0.0.1:0")

    assert alter(harness.client(), CLIENT_AUTH, "none").error_code == 0

    tls = harness.broker.tls.get("OUT")
    assert tls is not None
    assert tls.client_auth == "none"


def test_a_keystore_is_checked_before_and_used_after_the_change(
    opened: Callable[[str], Harness], tmp_path: Path
) -> None:
    harness = opened("127.0.0.1:0")
    client = harness.client()
    tls = harness.broker.tls.get("OUT")
    assert tls is not None
    before = tls.context

    refused = alter(client, KEYSTORE, str(tmp_path / "none.pem"))
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert "cannot read file" in refused.error_message
    assert tls.context is before

    other = certificates.make(tmp_path / "other")
    assert alter(client, KEYSTORE, str(other.server)).error_code == 0
    assert tls.context is not before

    now = tls.context
    assert alter(client, "log.cleaner.threads", "1").error_code == 0
    assert tls.context is now, "other settings load nothing"
    assert alter(client, KEYSTORE, None).error_code == 0
    assert tls.context is not now


def test_rules_are_given_at_the_start(opened: Callable[[str], Harness]) -> None:
    harness = opened("127.0.0.1:0")

    answer = alter(harness.client(), "listener.name.out.ssl.principal.mapping.rules", "DEFAULT")

    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_metrics_show_open_listeners_handshakes_and_expiry(
    opened: Callable[[str], Harness],
) -> None:
    harness = opened("0.0.0.0:0")
    harness.broker.endpoints = [
        *harness.broker.endpoints,
        harness.broker.endpoints[0]._replace(name="OPEN", danger="nothing is encrypted"),
    ]
    clients = harness.broker.connections.unauthenticated
    clients.succeeded, clients.failed, clients.evicted = 3, 2, 1
    text = "".join(security_lines(harness.broker))

    assert 'duolog_listener_insecure{listener="OUT"} 0' in text
    assert 'duolog_listener_insecure{listener="OPEN"} 1' in text
    assert 'duolog_tls_handshakes_total{result="succeeded"} 3' in text
    assert 'duolog_tls_handshakes_total{result="failed"} 2' in text
    assert 'duolog_connections_unauthenticated_closed_total{limit="number"} 1' in text
    tls = harness.broker.tls.get("OUT")
    assert tls is not None
    expires = int(tls.expires_at.timestamp())
    assert f'duolog_tls_certificate_expires_seconds{{listener="OUT"}} {expires}' in text


def test_a_listener_without_a_certificate_stops_the_start() -> None:
    settings = BrokerSettings({"listeners": "SSL://127.0.0.1:0"})
    listening = open_endpoints(endpoints(settings), insecure=False)
    try:
        with pytest.raises(ConfigError, match="has no certificate to show"):
            TlsListeners(settings, listening)
    finally:
        listening[0].listening.close()

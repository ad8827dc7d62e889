"""Clients whose security protocol is not the listener's learn so from one attempt."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import certificates
from duolog.cli.kafka.connection import ensure_reachable
from duolog.core.errors import DuologError, KafkaError
from duolog.runtime.broker_probe import ensure_reachable as ensure_reachable_by_application
from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.errors import BrokerUnavailable, LoginRefused
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import PROTOCOLS, ClientSecurity

MISMATCHES = [
    (client, listener) for client in PROTOCOLS for listener in PROTOCOLS if client != listener
]
PASSWORD = "of-the-admin"  # noqa: S105 - of this test's brokers


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> certificates.Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory, authority: certificates.Certificates
) -> Iterator[dict[str, str]]:
    """The address of a broker by the protocol of its listener."""
    directory = tmp_path_factory.mktemp("brokers")
    (directory / "password").write_text(PASSWORD)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOG_ADMIN_PASSWORD_FILE", str(directory / "password"))
        found = {}
        for protocol in PROTOCOLS:
            process = BrokerProcess(
                directory / protocol,
                f"{protocol}://127.0.0.1:0",
                {"ssl.keystore.location": str(authority.server)},
            )
            found[protocol] = stack.enter_context(process).bootstrap_servers
        yield found


def security_of(protocol: str, authority: certificates.Certificates) -> ClientSecurity:
    logs_in = protocol.startswith("SASL")
    return ClientSecurity(
        protocol,
        mechanism="SCRAM-SHA-512" if logs_in else "",
        username="admin" if logs_in else "",
        password=PASSWORD if logs_in else "",
        authorities=authority.ca.read_text() if protocol.endswith("SSL") else "",
    )


@pytest.mark.parametrize(("client", "listener"), MISMATCHES)
def test_a_wrong_protocol_is_reported_by_the_first_attempt(
    servers: dict[str, str], authority: certificates.Certificates, client: str, listener: str
) -> None:
    """`duolog topics list` waited 11 s for a listener with TLS; then it said "no answer"."""
    brokers = Brokers(servers[listener], security_of(client, authority))

    # Not BrokerUnavailable: that ends a wait.
    with pytest.raises((KafkaError, LoginRefused)) as caught:
        ensure_reachable(brokers)

    assert "security.protocol" in caught.value.hint
    assert client in caught.value.hint
    assert PASSWORD not in caught.value.render()


@pytest.mark.parametrize("listener", PROTOCOLS[1:])
def test_a_client_without_settings_learns_how_to_give_them(
    servers: dict[str, str], listener: str
) -> None:
    errors: list[DuologError] = []
    for check in (ensure_reachable, ensure_reachable_by_application):
        with pytest.raises((KafkaError, BrokerUnavailable)) as caught:
            check(Brokers(servers[listener]))
        errors.append(caught.value)

    assert all("--client-properties" in error.hint for error in errors)
    assert all("closes the connection" in error.detail for error in errors)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_listeners_own_protocol_is_accepted(
    servers: dict[str, str], authority: certificates.Certificates, protocol: str
) -> None:
    brokers = Brokers(servers[protocol], security_of(protocol, authority))

    ensure_reachable(brokers)
    ensure_reachable_by_application(brokers)

from typing import Any

import pytest

from duolog.broker.network.endpoints import Endpoint, endpoints, open_endpoints
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.listening import Address


def settings(**texts: str) -> BrokerSettings:
    return BrokerSettings({name.replace("_", "."): text for name, text in texts.items()})


def shown(found: list[Endpoint]) -> list[tuple[str, Address, Address | None]]:
    return [endpoint[:3] for endpoint in found]


def test_by_default_there_is_one_listener_on_loopback() -> None:
    assert shown(endpoints(settings())) == [("PLAINTEXT", ("127.0.0.1", 9092), None)]


def test_each_listener_has_a_name_an_address_and_an_advertised_address() -> None:
    found = endpoints(
        settings(
            listeners="INTERNAL://127.0.0.1:9092, external://0.0.0.0:9093",
            advertised_listeners="EXTERNAL://broker.example:19093",
            listener_security_protocol_map="INTERNAL:PLAINTEXT,EXTERNAL:plaintext",
        )
    )

    assert shown(found) == [
        ("INTERNAL", ("127.0.0.1", 9092), None),
        ("EXTERNAL", ("0.0.0.0", 9093), ("broker.example", 19093)),  # noqa: S104
    ]


def test_addresses_of_the_command_line_belong_together_by_their_order() -> None:
    found = endpoints(
        settings(), ("127.0.0.1:0", "OUTSIDE://127.0.0.1:0", "[::1]:0"), ("a:1", "localhost:0")
    )

    assert shown(found) == [
        ("PLAINTEXT", ("127.0.0.1", 0), ("a", 1)),
        ("OUTSIDE", ("127.0.0.1", 0), ("127.0.0.1", 0)),
        ("PLAINTEXT_3", ("::1", 0), None),
    ]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"listeners": "A://127.0.0.1:1,A://127.0.0.1:2"}, 'listener "A" is given twice'),
        ({"listeners": "A://127.0.0.1:1,B://127.0.0.1:1"}, "have the same address"),
        ({"listeners": "A://127.0.0.1"}, "is not an address"),
        ({"listeners": "A://0.0.0.0:1"}, "it leads nowhere"),
        ({"listeners": "A://[::]:1"}, "it leads nowhere"),
        ({"advertised_listeners": "0.0.0.0:1"}, "it leads nowhere"),
        ({"advertised_listeners": "B://a:1"}, 'no listener "B"'),
        ({"advertised_listeners": "a:1,b:1"}, "belongs to no listener"),
        ({"listener_security_protocol_map": "A:PLAINTEXT"}, "has no security protocol"),
        ({"listener_security_protocol_map": "PLAINTEXT:TLS"}, "names no security protocol"),
    ],
)
def test_impossible_combinations_are_refused_with_a_reason(
    texts: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        endpoints(settings(**texts))


def test_a_setting_for_a_listener_that_is_not_there_is_refused_with_the_listeners() -> None:
    misspelled = {
        "listeners": "INTERNAL://127.0.0.1:1,EXTERNAL://127.0.0.1:2",
        "listener.name.extrenal.ssl.client.auth": "required",
    }

    with pytest.raises(ConfigError, match='no listener "EXTRENAL"') as refused:
        endpoints(BrokerSettings(misspelled))

    assert refused.value.name == "listener.name.extrenal.ssl.client.auth"
    assert "EXTERNAL, INTERNAL" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "setting",
    [
        "listener.name.external.ssl.client.auth",
        "listener.name.external.scram-sha-256.connections.max.reauth.ms",
        "listener.name.controller.ssl.client.auth",
    ],
)
def test_settings_for_named_listeners_and_their_mechanisms_are_accepted(setting: str) -> None:
    given = {
        "listeners": "EXTERNAL://127.0.0.1:2",
        "listener.security.protocol.map": "EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        setting: "required" if setting.endswith("auth") else "1000",
    }

    assert [endpoint.name for endpoint in endpoints(BrokerSettings(given))] == ["EXTERNAL"]


def test_each_listener_has_a_protocol_of_its_own() -> None:
    found = endpoints(
        settings(
            listeners="IN://127.0.0.1:1,OUT://127.0.0.1:2,SSL://127.0.0.1:3",
            listener_security_protocol_map="IN:PLAINTEXT,OUT:SSL,SSL:SSL",
        )
    )

    assert [endpoint.protocol for endpoint in found] == ["PLAINTEXT", "SSL", "SSL"]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({}, "clients are not authenticated, and nothing is encrypted"),
        ({"listener_security_protocol_map": "A:SSL"}, "clients are not authenticated"),
        ({"listener_security_protocol_map": "A:SASL_PLAINTEXT"}, "nothing is encrypted"),
        (
            {"listener_security_protocol_map": "A:SSL", "ssl_client_auth": "requested"},
            "clients are not authenticated",
        ),
        (
            {
                "listener_security_protocol_map": "A:SSL",
                "ssl_client_auth": "required",
                "listener_name_a_ssl_client_auth": "none",
            },
            "clients are not authenticated",
        ),
    ],
)
def test_a_listener_beyond_loopback_encrypts_and_authenticates(
    texts: dict[str, str], problem: str
) -> None:
    read = settings(listeners="A://0.0.0.0:0", advertised_listeners="A://a:1", **texts)

    with pytest.raises(ConfigError, match=f"beyond loopback, and {problem}") as caught:
        open_endpoints(endpoints(read), insecure=False)
    assert "--insecure" in caught.value.hint

    (opened,) = open_endpoints(endpoints(read), insecure=True)
    assert opened.insecure
    opened.listening.close()


def test_a_listener_with_client_certificates_is_open_beyond_loopback() -> None:
    read = settings(
        listeners="A://0.0.0.0:0",
        advertised_listeners="A://a:1",
        listener_security_protocol_map="A:SSL",
        listener_name_a_ssl_client_auth="required",
    )

    (opened,) = open_endpoints(endpoints(read), insecure=False)

    assert not opened.insecure
    opened.listening.close()


def test_one_of_command_line_and_settings_says_where_to_listen() -> None:
    with pytest.raises(ConfigError, match="both given"):
        endpoints(settings(listeners="A://127.0.0.1:1"), ("127.0.0.1:2",))


def test_clients_get_an_address_and_the_open_port() -> None:
    opened = open_endpoints(
        endpoints(settings(), ("localhost:0", "B://127.0.0.1:0"), ("b://far.example:0",)),
        insecure=False,
    )

    ports = [endpoint.bound.port for endpoint in opened]
    assert [endpoint.advertised for endpoint in opened] == [
        ("127.0.0.1", ports[0]),
        ("far.example", ports[1]),
    ]
    assert 0 not in ports
    for endpoint in opened:
        endpoint.listening.close()


def test_when_one_listener_cannot_be_opened_none_is() -> None:
    first = open_endpoints(endpoints(settings(), ("127.0.0.1:0",)), insecure=False)[0]
    taken = str(first.bound)
    free = open_endpoints(endpoints(settings(), ("127.0.0.1:0",)), insecure=False)[0]
    address = str(free.bound)
    free.listening.close()

    with pytest.raises(ConfigError, match="cannot listen") as caught:
        open_endpoints(endpoints(settings(), (address, taken)), insecure=False)
    assert "take another port" in caught.value.hint

    open_endpoints(endpoints(settings(), (address,)), insecure=False)[0].listening.close()
    first.listening.close()


METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER = 3, 10, 60


def test_a_client_gets_the_address_of_the_listener_it_connected_to(harness: Any) -> None:
    inside = harness.client(Address("10.0.0.1", 1))
    outside = harness.client(Address("broker.example", 2))

    for client, reported in ((inside, ("10.0.0.1", 1)), (outside, ("broker.example", 2))):
        (broker,) = client.ask(METADATA, 12, topics=[]).brokers
        assert (broker.host, broker.port) == reported
        found = client.ask(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["g"])
        assert (found.coordinators[0].host, found.coordinators[0].port) == reported
        (broker,) = client.ask(DESCRIBE_CLUSTER, 1).brokers
        assert (broker.host, broker.port) == reported

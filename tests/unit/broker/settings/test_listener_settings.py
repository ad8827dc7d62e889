"""Settings of TLS, for all listeners and for one; what they refuse, and that secrets stay hidden."""

import pytest

from duolog.broker.configs.described_config import broker_rows, is_dynamic
from duolog.broker.settings import SETTINGS, BrokerSettings
from duolog.core.errors import ConfigError


def test_a_listener_prefers_its_own_setting() -> None:
    settings = BrokerSettings(
        {
            "ssl.client.auth": "required",
            "listener.name.out.side.ssl.client.auth": "none",
            "listener.name.other.ssl.keystore.location": "/other.pem",
        }
    )

    assert settings.of_listener("IN", "ssl.client.auth") == "required"
    assert settings.of_listener("OUT.SIDE", "ssl.client.auth") == "none"
    assert settings.of_listener("OTHER", "ssl.keystore.location") == "/other.pem"
    assert settings.of_listener("IN", "ssl.keystore.location") == ""


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("listener.name.a.ssl.client.auth", "maybe", "must be one of required, requested, none"),
        ("listener.name.a.ssl.client.auht", "none", "unknown broker setting"),
        ("listener.name.a.sasl.oauthbearer.expected.isuer", "i", "unknown broker setting"),
        (
            "listener.name.a.oauthbearer.sasl.oauthbearer.clock.skew.seconds",
            "301",
            "at most 300|0 and",
        ),
        ("listener.name.a.connections.max.reauth.ms", "-1", "must be at least 0"),
        ("listener.name.a.num.partitions", "3", "unknown broker setting"),
        ("listener.name.ssl.client.auth", "none", "unknown broker setting"),
        ("ssl.keystore.type", "JKS", "must be PEM"),
        ("ssl.truststore.type", "PKCS12", "must be PEM"),
        ("ssl.enabled.protocols", "TLSv1.1,TLSv1.2", "must be one of TLSv1.2, TLSv1.3"),
    ],
)
def test_other_names_and_values_are_refused(name: str, value: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        BrokerSettings({name: value})


def test_a_mechanism_of_a_listener_prefers_its_own_setting() -> None:
    name = "sasl.oauthbearer.expected.audience"
    settings = BrokerSettings(
        {
            name: "all",
            f"listener.name.in.{name}": "weaker",
            f"listener.name.in.oauthbearer.{name}": "stronger",
            f"listener.name.out.{name}": "out",
        }
    )

    assert settings.of_mechanism("IN", "OAUTHBEARER", name) == "stronger"
    assert settings.of_mechanism("OUT", "OAUTHBEARER", name) == "out"
    assert settings.of_mechanism("OTHER", "OAUTHBEARER", name) == "all"


@pytest.mark.parametrize(
    "name", ["ssl.keystore.password", "listener.name.a.ssl.truststore.password"]
)
def test_a_refused_password_is_not_shown(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerSettings({name: "swordfish"})

    assert "swordfish" not in caught.value.render() + str(caught.value.value)


def test_settings_of_a_listener_change_at_run_time_and_go_again() -> None:
    settings = BrokerSettings({"ssl.client.auth": "required"})
    name = "listener.name.a.ssl.client.auth"

    assert settings.change(default={}, own={name: "none"}) == {name}
    assert settings.of_listener("A", "ssl.client.auth") == "none"
    assert settings.change(default={}, own={name: "none"}) == set()
    assert settings.change(default={}, own={}) == {name}
    assert settings.of_listener("A", "ssl.client.auth") == "required"


def test_those_that_kafka_changes_at_run_time_are_dynamic() -> None:
    assert is_dynamic("listener.name.a.ssl.keystore.location")
    assert is_dynamic("ssl.keystore.key")
    assert not is_dynamic("listener.name.a.ssl.principal.mapping.rules")
    assert not is_dynamic("listeners")


def test_set_ones_are_described_without_secrets() -> None:
    settings = BrokerSettings(
        {"listener.name.a.ssl.keystore.key": "swordfish", "listener.name.a.ssl.client.auth": "none"}
    )

    rows = {row["name"]: row for row in broker_rows(settings)}

    assert rows["listener.name.a.ssl.client.auth"]["value"] == "none"
    assert rows["listener.name.a.ssl.keystore.key"]["value"] is None
    assert rows["listener.name.a.ssl.keystore.key"]["is_sensitive"]
    assert "swordfish" not in str(rows)
    assert rows["ssl.keystore.location"]["value"] is None
    assert "listener.name.a.ssl.keystore.key" in SETTINGS

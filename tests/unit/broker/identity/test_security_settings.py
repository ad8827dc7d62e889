"""Super users and mechanisms in settings: what is read, and what stops the start."""

import pytest

from duolog.broker.identity.security_settings import EnabledMechanisms
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.security.authorization.super_users import super_users
from duolog.security.identity.principal import Principal


@pytest.mark.parametrize(
    "text", ["User:ANONYMOUS", "User:*", "alice", "User:", "User:a;User:ANONYMOUS"]
)
def test_super_users_that_would_open_the_broker_are_refused_at_the_start(text: str) -> None:
    with pytest.raises(ConfigError):
        list(super_users(text))


def test_super_users_are_separated_by_semicolons() -> None:
    assert list(super_users("User:CN=a,O=b; User:bob;")) == [
        Principal("User", "CN=a,O=b"),
        Principal("User", "bob"),
    ]


@pytest.mark.parametrize("text", ["GSSAPI", "", "PLAIN,SCRAM-SHA-1"])
@pytest.mark.parametrize("prefix", ["", "listener.name.outside."])
def test_mechanisms_that_are_not_supported_are_refused_at_the_start(prefix: str, text: str) -> None:
    name = f"{prefix}sasl.enabled.mechanisms"

    with pytest.raises(ConfigError) as caught:
        EnabledMechanisms(BrokerSettings({name: text}))

    assert caught.value.name == name


def test_a_listener_prefers_its_own_mechanisms() -> None:
    enabled = EnabledMechanisms(
        BrokerSettings(
            {
                "sasl.enabled.mechanisms": "SCRAM-SHA-512",
                "listener.name.out.side.sasl.enabled.mechanisms": "OAUTHBEARER, PLAIN",
            }
        )
    )

    assert enabled.of("OUT.SIDE") == ("OAUTHBEARER", "PLAIN")
    assert enabled.of("OUT") == enabled.of("") == ("SCRAM-SHA-512",)

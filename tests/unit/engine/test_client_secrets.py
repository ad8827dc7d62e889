"""Settings of Kafka's clients in the JVM have a name in place of secrets."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from duolog.engine.client_secrets import jvm_security, tell_client_secrets
from duolog.engine.query.launch.client_settings import ClientSettings
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.session_conf import session_conf
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity, TokenEndpoint

if TYPE_CHECKING:
    from duolog.engine.spark.session import Session

SECRET = "planted"  # noqa: S105 - planted
SCRAM = ClientSecurity(
    "SASL_SSL", "SCRAM-SHA-512", "ann", SECRET, authorities="A", key=SECRET, chain="C"
)
TOKENS = ClientSecurity(
    "SASL_SSL",
    "OAUTHBEARER",
    token=TokenEndpoint("https://login.example/token", "id", SECRET),
)
MUTUAL = ClientSecurity("SSL", chain="C", key=SECRET, key_password=SECRET)


class FakeSession:
    """Takes what is passed to the JVM."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.spark = self
        self._jsparkSession = None

    def kernel(self, name: str) -> "FakeSession":
        assert name == "ClientSecrets"
        return self

    def tell(self, _spark: object, text: str) -> None:
        self.told |= json.loads(text)


def config_of(security: ClientSecurity | None) -> EngineConfig:
    return EngineConfig.of_brokers(Brokers("a:1", security), Path())


@pytest.mark.parametrize("security", [SCRAM, TOKENS, MUTUAL], ids=["scram", "tokens", "mutual"])
def test_no_setting_of_any_client_is_a_secret(security: ClientSecurity) -> None:
    clients = ClientSettings(config_of(security), has_changelogs=True)

    for settings in (
        clients.common,
        clients.consumer,
        clients.producer("micro-batch", None),
        clients.changelog_producer,
        clients.commit_producer,
    ):
        assert SECRET not in json.dumps(settings)
        assert settings["security.protocol"] == security.protocol


@pytest.mark.parametrize("security", [SCRAM, TOKENS, MUTUAL], ids=["scram", "tokens", "mutual"])
def test_the_jvm_is_told_the_secrets_by_the_name_in_the_settings(security: ClientSecurity) -> None:
    session = FakeSession()

    tell_client_secrets(cast("Session", session), config_of(security))

    fields = session.told[jvm_security(security)["duolog.security"]]
    assert SECRET in fields.values()


def test_login_modules_are_those_of_kafka_and_have_no_other_option() -> None:
    name = jvm_security(SCRAM)["duolog.security"]

    assert jvm_security(SCRAM)["sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.scram.ScramLoginModule required duolog="{name}";'
    )
    assert "OAuthBearerLoginModule" in jvm_security(TOKENS)["sasl.jaas.config"]
    assert "sasl.jaas.config" not in jvm_security(MUTUAL)


def test_names_differ_by_security_and_stay_for_one() -> None:
    other = ClientSecurity("SASL_SSL", "SCRAM-SHA-512", "ann", "other")

    assert jvm_security(SCRAM) == jvm_security(SCRAM)
    assert jvm_security(SCRAM)["duolog.security"] != jvm_security(other)["duolog.security"]


def test_clients_without_security_have_no_settings_of_it() -> None:
    session = FakeSession()

    tell_client_secrets(cast("Session", session), config_of(None))

    assert session.told == {}
    assert ClientSettings(config_of(None)).common == {"bootstrap.servers": "a:1"}


def test_clients_in_python_get_librdkafkas_settings() -> None:
    found = config_of(SCRAM).python_clients

    assert (found["sasl.username"], found["sasl.password"]) == ("ann", SECRET)


def test_representations_have_no_secret() -> None:
    config = config_of(SCRAM)

    assert SECRET not in repr(config) + repr(config.brokers) + repr(ClientSettings(config))


def test_the_session_loads_no_code_that_settings_name(tmp_path: Path) -> None:
    conf = session_conf(config_of(SCRAM), (), tmp_path)

    assert "LdapLoginModule" in conf["spark.driver.extraJavaOptions"]
    assert "automatic.config.providers=none" in conf["spark.driver.extraJavaOptions"]
    assert SECRET not in json.dumps(conf)

"""Settings of Kafka without an effect here are accepted, validated and described; unknown ones are refused."""

import pytest

from duolog.broker.configs.described_config import DYNAMIC
from duolog.broker.settings import SETTINGS, BrokerSettings, without_effect
from duolog.broker.settings.inert_settings import INERT_DYNAMIC, INERT_ROWS, WITHOUT_DEFAULT
from duolog.core.errors import ConfigError
from duolog.core.setting_types import Kind


def test_each_says_why_it_means_nothing_and_takes_its_own_default() -> None:
    for row in INERT_ROWS:
        assert row.inert
        assert row.doc.endswith(".")
        if row.name not in WITHOUT_DEFAULT:
            assert row.parse(row.render(row.default)) == row.default


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num.io.threads", "16"),
        ("offsets.topic.replication.factor", "3"),
        ("process.roles", "broker"),
        ("metric.reporters", "com.example.Reporter"),
        ("sasl.jaas.config", "user=x password=y"),
        ("listener.name.a.scram-sha-256.sasl.jaas.config", "user=x password=y"),
        ("listener.name.a.oauthbearer.sasl.server.callback.handler.class", "com.example.Handler"),
    ],
)
def test_values_kafka_accepts_are_accepted(name: str, value: str) -> None:
    settings = BrokerSettings({name: value})

    assert settings.text(name) == value
    assert without_effect([name, "node.id", "no.such.setting"]) == [name]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num.io.threads", "0", "must be at least 1, not 0"),
        ("num.io.threads", "many", "takes an int"),
        ("offsets.topic.replication.factor", "40000", "takes a short"),
        ("ssl.client.auth", "maybe", "must be one of required, requested, none"),
        ("group.share.delivery.count.limit", "11", "must be between 2 and 10"),
        ("authorizer.class.name", "org.example.Acl", "must be one of"),
        ("remote.log.storage.system.enable", "true", "there is no tiered storage"),
    ],
)
def test_values_kafka_refuses_and_misleading_values_are_refused(
    name: str, value: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerSettings({name: value})


def test_a_password_of_a_listener_without_effect_is_secret() -> None:
    name = "listener.name.a.plain.sasl.jaas.config"

    assert SETTINGS.row(name).kind is Kind.PASSWORD


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerSettings({"num.io.thread": "3"})

    assert '"num.io.threads"' in caught.value.hint


def test_settings_dynamic_in_kafka_are_dynamic() -> None:
    assert INERT_DYNAMIC < DYNAMIC
    assert len(INERT_DYNAMIC) == 35
    assert all(name in SETTINGS for name in DYNAMIC)


def test_a_secret_is_not_printed() -> None:
    secrets = {row.name for row in INERT_ROWS if row.kind is Kind.PASSWORD}

    assert {"delegation.token.secret.key", "sasl.jaas.config"} <= secrets

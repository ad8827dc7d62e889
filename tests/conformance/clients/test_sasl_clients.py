"""Unchanged clients log in to a broker process, and do what their rules allow.

The first administrator comes from the environment. It creates users and rules by Kafka's APIs, and
both are there after the broker was killed.
"""

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

import waiting
from duolog.runtime.broker_process import BrokerProcess

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    import kafka  # It warns when it is loaded.
    import kafka.errors

TIMEOUT_S = 60
ADMIN, SECRET = "admin", "first-secret"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
SETTINGS = {
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "connection.failed.authentication.delay.ms": "0",
}


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BrokerProcess]:
    password = tmp_path / "password"
    password.write_text(f"{SECRET}\n")
    monkeypatch.setenv("DUOLOG_ADMIN_PASSWORD_FILE", str(password))
    listen = "SASL_PLAINTEXT://127.0.0.1:0"
    with BrokerProcess(tmp_path / "data", listen, settings=SETTINGS) as process:
        yield process


def properties(
    broker: BrokerProcess, user: str = ADMIN, typed: str = SECRET, how: str = "SCRAM-SHA-256"
) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": how,
        "sasl.username": user,
        "sasl.password": typed,
    }


def add_user(admin: AdminClient, user: str, typed: str) -> None:
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        change: list[Any] = [UserScramCredentialUpsertion(user, info, typed.encode())]
        for future in admin.alter_user_scram_credentials(change).values():
            future.result(TIMEOUT_S)


def allow(admin: AdminClient, user: str, operation: AclOperation, **more: Any) -> None:
    rule = AclBinding(
        more.get("kind", ResourceType.TOPIC),
        more.get("name", "orders"),
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    for future in admin.create_acls([rule]).values():
        future.result(TIMEOUT_S)


def create_topic(admin: AdminClient, name: str = "orders") -> None:
    for future in admin.create_topics([NewTopic(name, 1, 1)]).values():
        future.result(TIMEOUT_S)


def prepared(broker: BrokerProcess) -> AdminClient:
    """Return an administrator's client, after it has made a topic and a user with all rights."""
    admin = AdminClient(properties(broker))
    create_topic(admin)
    add_user(admin, "alice", "alices-secret")
    for operation in (AclOperation.READ, AclOperation.WRITE):
        allow(admin, "alice", operation)
    allow(admin, "alice", AclOperation.READ, kind=ResourceType.GROUP, name="readers")
    return admin


def login_error(properties: dict[str, Any]) -> int:
    """Return librdkafka's code for a login that must fail."""
    codes: list[int] = []
    client = Producer({**properties, "error_cb": lambda error: codes.append(error.code())})
    failed = KafkaError._AUTHENTICATION  # noqa: SLF001 - its public name

    def reported() -> bool:
        client.poll(0)
        return failed in codes

    waiting.wait_until(reported, "librdkafka reports a failed login")
    return codes[0]


@pytest.mark.parametrize("how", MECHANISMS)
def test_librdkafka_produces_and_consumes_after_a_login(broker: BrokerProcess, how: str) -> None:
    prepared(broker)
    alice = properties(broker, "alice", "alices-secret", how)
    producer = Producer(alice)
    producer.produce("orders", b"1")
    assert producer.flush(TIMEOUT_S) == 0

    consumer = Consumer({**alice, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(TIMEOUT_S)
    consumer.close()

    assert message is not None
    assert message.error() is None
    assert message.value() == b"1"


@pytest.mark.parametrize("how", MECHANISMS)
def test_kafka_python_and_aiokafka_log_in(broker: BrokerProcess, how: str) -> None:
    prepared(broker)
    login = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": how,
        "sasl_plain_username": "alice",
        "sasl_plain_password": "alices-secret",
    }
    producer = kafka.KafkaProducer(**login)
    sent = producer.send("orders", b"1", partition=0).get(TIMEOUT_S)
    producer.close()

    async def consume() -> bytes:
        consumer = aiokafka.AIOKafkaConsumer("orders", auto_offset_reset="earliest", **login)
        await consumer.start()
        try:
            message = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
        finally:
            await consumer.stop()
        return bytes(message.value)

    assert sent.offset == 0
    assert asyncio.run(consume()) == b"1"


@pytest.mark.parametrize("how", MECHANISMS)
def test_librdkafka_reports_a_wrong_password_as_a_failed_login(
    broker: BrokerProcess, how: str
) -> None:
    failed = KafkaError._AUTHENTICATION  # noqa: SLF001 - its public name

    assert login_error(properties(broker, typed="wrong-secret", how=how)) == failed
    assert login_error(properties(broker, "nobody", how=how)) == failed


def test_kafka_python_reports_an_unknown_user_as_a_failed_login(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(kafka.errors.KafkaError):
        kafka.KafkaAdminClient(
            bootstrap_servers=broker.bootstrap_servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_plain_username="nobody",
            sasl_plain_password=SECRET,
        )

    assert "SaslAuthenticationFailedError" in caplog.text


def test_users_and_rules_survive_a_kill(broker: BrokerProcess) -> None:
    admin = prepared(broker)
    add_user(admin, "bob", "bobs-secret")
    deletion = UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256)
    admin.alter_user_scram_credentials([deletion])["bob"].result(TIMEOUT_S)
    address = broker.bootstrap_servers

    broker.kill()
    broker.start()

    admin = AdminClient(properties(broker))
    future: Any = admin.describe_user_scram_credentials()
    described = future.result(TIMEOUT_S)
    assert {
        user: sorted(info.mechanism.name for info in row.scram_credential_infos)
        for user, row in described.items()
    } == {
        ADMIN: ["SCRAM_SHA_256", "SCRAM_SHA_512"],
        "alice": ["SCRAM_SHA_256", "SCRAM_SHA_512"],
        "bob": ["SCRAM_SHA_512"],
    }
    anything: Any = None
    everything = AclBindingFilter(
        ResourceType.ANY, anything, ResourcePatternType.ANY, anything, anything, AclOperation.ANY,
        AclPermissionType.ANY,
    )  # fmt: skip
    rules = admin.describe_acls(everything).result(TIMEOUT_S)
    assert {(rule.principal, rule.name, rule.operation.name) for rule in rules} == {
        ("User:alice", "orders", "READ"),
        ("User:alice", "orders", "WRITE"),
        ("User:alice", "readers", "READ"),
    }
    assert address  # The port may be another one.


def test_a_user_without_rights_cannot_administer(broker: BrokerProcess) -> None:
    prepared(broker)
    alice = AdminClient(properties(broker, "alice", "alices-secret"))

    with pytest.raises(KafkaException) as caught:
        allow(alice, "alice", AclOperation.ALL)
    assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED
    with pytest.raises(KafkaException) as caught:
        add_user(alice, "alice", "another-secret")
    assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED


def test_the_first_administrator_is_created_only_once(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    admin = AdminClient(properties(broker))
    add_user(admin, "other", "others-secret")
    for each in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        deletion = UserScramCredentialDeletion(ADMIN, each)
        admin.alter_user_scram_credentials([deletion])[ADMIN].result(TIMEOUT_S)
    broker.stop()
    (tmp_path / "password").write_text("another-secret")

    broker.start()

    failed = KafkaError._AUTHENTICATION  # noqa: SLF001 - its public name
    assert login_error(properties(broker)) == failed
    assert login_error(properties(broker, typed="another-secret")) == failed


def test_a_login_is_repeated_by_librdkafka_before_it_expires(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    """KIP-368: the client logs in again on the same connection."""
    del tmp_path
    prepared(broker)
    broker.stop()
    broker._settings["connections.max.reauth.ms"] = "2000"  # noqa: SLF001
    broker.start()
    producer = Producer(properties(broker, "alice", "alices-secret"))
    errors: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            errors.append(error)

    def logins() -> int:
        lines = broker.log_path.read_text().splitlines()
        return sum("User:alice" in line and "success" in line for line in lines)

    def logged_in_again() -> bool:
        producer.produce("orders", b"1", on_delivery=delivered)
        producer.poll(0)
        return logins() >= 4

    waiting.wait_until(logged_in_again, "the producer logs in again")

    assert producer.flush(TIMEOUT_S) == 0
    assert errors == []

"""Every client of Python logs in to a secured broker in every way, and does what its rights allow.

Each is unchanged: it checks the broker's certificate and host, and reports errors as its own.
"""

import asyncio
import gc
import logging
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import aiokafka
import aiokafka.errors
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AclOperation, NewTopic, ResourceType

import waiting
from conformance.clients import logins
from conformance.clients.logins import LOGINS, MUTUAL_TLS, PASSWORD, USER
from conformance.secured_broker import SecuredBroker

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    import kafka  # It warns when it is loaded.
    import kafka.errors

pytestmark = pytest.mark.timeout(240)

TIMEOUT_S: Final = 60
GIVE_UP_MS: Final = 10_000
RECORDS: Final = [b"%d" % number for number in range(100)]
BY_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_AUTHENTICATION: Final = KafkaError._AUTHENTICATION  # noqa: SLF001 - its public name


def prepared(broker: SecuredBroker) -> SecuredBroker:
    """Create a user that may read and write the topic `orders`, in the group `readers`."""
    broker.add_user(USER, PASSWORD)
    for resource, name in ((ResourceType.TOPIC, "orders"), (ResourceType.GROUP, "readers")):
        broker.allow(f"User:{USER}", resource, name, AclOperation.READ, AclOperation.WRITE)
    admin = broker.admin()
    for future in admin.create_topics([NewTopic("orders", 1)]).values():
        future.result(TIMEOUT_S)
    return broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("secured")) as process:
        yield prepared(process)


@pytest.fixture
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker whose clients must log in again every two seconds."""
    settings = {"connections.max.reauth.ms": "2000"}
    with SecuredBroker(tmp_path_factory.mktemp("impatient"), settings) as process:
        yield prepared(process)


# Round trips


def of_librdkafka(broker: SecuredBroker, login: str) -> list[bytes | None]:
    arguments = logins.librdkafka(broker, login)
    producer = Producer(arguments)
    offsets: list[int | None] = []
    for value in RECORDS:
        producer.produce("orders", value, on_delivery=lambda _, one: offsets.append(one.offset()))
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer(arguments | {"group.id": "readers"})
    consumer.assign([TopicPartition("orders", 0, offsets[0] or 0)])
    found = [message.value() for message in consumer.consume(len(RECORDS), TIMEOUT_S)]
    consumer.close()
    return found


def of_kafka_python(broker: SecuredBroker, login: str) -> list[bytes | None]:
    arguments = logins.kafka_python(broker, login)
    producer = kafka.KafkaProducer(**arguments)
    sent = [producer.send("orders", value, partition=0) for value in RECORDS]
    first = sent[0].get(TIMEOUT_S).offset
    producer.close()
    consumer = kafka.KafkaConsumer(**arguments, group_id="readers", enable_auto_commit=False)
    consumer.assign([kafka.TopicPartition("orders", 0)])
    consumer.seek(kafka.TopicPartition("orders", 0), first)
    found = [next(consumer).value for _ in RECORDS]
    consumer.close()
    return found


def of_aiokafka(broker: SecuredBroker, login: str) -> list[bytes | None]:
    async def run() -> list[bytes | None]:
        arguments = logins.aiokafka(broker, login)
        async with aiokafka.AIOKafkaProducer(**arguments) as producer:
            first = (await producer.send_and_wait("orders", RECORDS[0], partition=0)).offset
            for value in RECORDS[1:]:
                await producer.send("orders", value, partition=0)
        partition = aiokafka.TopicPartition("orders", 0)
        async with aiokafka.AIOKafkaConsumer(**arguments, group_id="readers") as consumer:
            consumer.assign([partition])
            consumer.seek(partition, first)
            return [(await asyncio.wait_for(consumer.getone(), TIMEOUT_S)).value for _ in RECORDS]

    return asyncio.run(run())


@pytest.mark.parametrize("login", LOGINS)
@pytest.mark.parametrize("round_trip", [of_librdkafka, of_kafka_python, of_aiokafka])
def test_a_client_writes_and_reads(
    broker: SecuredBroker, round_trip: Callable[[SecuredBroker, str], Any], login: str
) -> None:
    assert round_trip(broker, login) == RECORDS


# Sessions that expire


def librdkafka_until(broker: SecuredBroker, login: str, ends: Callable[[], bool]) -> int:
    producer = Producer(logins.librdkafka(broker, login))
    errors: list[KafkaError | None] = []

    def sent() -> bool:
        producer.produce("orders", b"1", on_delivery=lambda error, _: errors.append(error))
        producer.poll(0)
        return ends()

    waiting.wait_until(sent, "the sessions do not expire")
    assert producer.flush(TIMEOUT_S) == 0
    assert not any(errors)
    return len(errors)


def kafka_python_until(broker: SecuredBroker, login: str, ends: Callable[[], bool]) -> int:
    producer = kafka.KafkaProducer(**logins.kafka_python(broker, login))
    sent: list[Any] = []

    def send() -> bool:
        sent.append(producer.send("orders", b"1", partition=0))
        return ends()

    waiting.wait_until(send, "the sessions do not expire")
    for future in sent:
        future.get(TIMEOUT_S)
    producer.close()
    return len(sent)


def aiokafka_until(broker: SecuredBroker, login: str, ends: Callable[[], bool]) -> int:
    async def run() -> int:
        count = 0
        async with aiokafka.AIOKafkaProducer(**logins.aiokafka(broker, login)) as producer:
            while not ends():
                sending = producer.send_and_wait("orders", b"1", partition=0)
                await asyncio.wait_for(sending, TIMEOUT_S)
                count += 1
        return count

    return asyncio.run(run())


def end_of_log(broker: SecuredBroker) -> int:
    consumer = Consumer(broker.librdkafka() | {"group.id": "of-the-administrator"})
    _, end = consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=TIMEOUT_S)
    consumer.close()
    return int(end)


@pytest.mark.parametrize(
    ("produce_until", "login"),
    [
        (librdkafka_until, "SCRAM-SHA-512"),
        (librdkafka_until, "OAUTHBEARER"),
        (kafka_python_until, "SCRAM-SHA-256"),
        (aiokafka_until, "PLAIN"),
    ],
)
def test_a_producer_outlives_its_sessions(
    impatient: SecuredBroker,
    produce_until: Callable[[SecuredBroker, str, Callable[[], bool]], int],
    login: str,
) -> None:
    """KIP-368: each record arrives; with a client that cannot log in again, it connects again."""
    count = produce_until(impatient, login, lambda: impatient.logins(f"User:{USER}") >= 4)

    assert end_of_log(impatient) >= count


# Refused logins


@pytest.mark.parametrize("login", BY_PASSWORD)
def test_librdkafka_reports_a_wrong_password(broker: SecuredBroker, login: str) -> None:
    codes: list[int] = []
    arguments = logins.librdkafka(broker, login, "wrong-secret")
    client = Producer({**arguments, "error_cb": lambda error: codes.append(error.code())})

    def reported() -> bool:
        client.poll(0)
        return _AUTHENTICATION in codes

    waiting.wait_until(reported, "librdkafka reports a failed login")
    assert codes[0] == _AUTHENTICATION


def test_kafka_python_reports_a_wrong_password(
    broker: SecuredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """It tries again for the whole time that it was given, so the logins run side by side."""

    def refused(login: str) -> None:
        arguments = logins.kafka_python(broker, login, "wrong-secret")
        with pytest.raises(kafka.errors.KafkaError):
            kafka.KafkaAdminClient(**arguments, bootstrap_timeout_ms=GIVE_UP_MS)

    with ThreadPoolExecutor() as pool:
        list(pool.map(refused, BY_PASSWORD))

    assert caplog.text.count("SaslAuthenticationFailedError") >= len(BY_PASSWORD)
    assert "wrong-secret" not in caplog.text


@pytest.mark.parametrize("login", BY_PASSWORD)
def test_aiokafka_reports_a_wrong_password(
    broker: SecuredBroker, login: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        producer = aiokafka.AIOKafkaProducer(**logins.aiokafka(broker, login, "wrong-secret"))
        try:
            await asyncio.wait_for(producer.start(), TIMEOUT_S)
        finally:
            await producer.stop()

    # It leaves the refused connection to the garbage collection, which warns of it.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        with caplog.at_level(logging.ERROR), pytest.raises(aiokafka.errors.KafkaError):
            asyncio.run(run())
        gc.collect()

    assert "uthentication" in caplog.text
    assert "wrong-secret" not in caplog.text


def test_a_certificate_without_rights_is_refused_by_name(broker: SecuredBroker) -> None:
    arguments = logins.librdkafka(broker, MUTUAL_TLS)
    stranger = str(broker.client_certificate("stranger"))
    arguments |= {"ssl.certificate.location": stranger, "ssl.key.location": stranger}
    errors: list[KafkaError | None] = []
    producer = Producer(arguments)
    producer.produce("orders", b"1", on_delivery=lambda error, _: errors.append(error))

    assert producer.flush(TIMEOUT_S) == 0

    (error,) = errors
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED

"""Unchanged clients over TLS and mTLS against a broker process; certificates that change meanwhile."""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

import certificates
from certificates import Certificates, named, sign
from conformance.kafka.peer import TOOL_OPTIONS, fetch
from conftest import RequireProgram
from duolog.runtime.broker_process import BrokerProcess
from duolog.security.certificates.authority import Authority
from waiting import wait_until

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as PyTopicPartition

RECORDS = 300
MEBIBYTE = 1 << 20
LISTEN = "SSL://127.0.0.1:0"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, files: Certificates
) -> Iterator[BrokerProcess]:
    settings = files.settings("required", connection_authentication_timeout_ms="60000")
    data = tmp_path_factory.mktemp("broker") / "data"
    with BrokerProcess(data, LISTEN, settings) as process:
        yield process


def properties(
    servers: str, files: Certificates, certificate: Path | None = None
) -> dict[str, Any]:
    certificate = certificate or files.client
    return {
        "bootstrap.servers": servers,
        "security.protocol": "ssl",
        "ssl.ca.location": str(files.ca),
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(certificate),
        "log_level": 0,
    }


def python_arguments(servers: str, files: Certificates) -> dict[str, Any]:
    return {
        "bootstrap_servers": servers,
        "security_protocol": "SSL",
        "ssl_context": files.client_context(files.client),
    }


def test_librdkafka_writes_and_reads_a_hundred_mebibytes(
    broker: BrokerProcess, files: Certificates
) -> None:
    told = properties(broker.bootstrap_servers, files)
    topic = NewTopic("large", 1, config={"max.message.bytes": str(11 * MEBIBYTE)})
    admin = AdminClient(told)
    admin.create_topics([topic])["large"].result(60)
    values = [os.urandom(10 * MEBIBYTE) for _ in range(10)]
    failed: list[object] = []
    producer = Producer(told | {"message.max.bytes": 11 * MEBIBYTE})
    for value in values:
        producer.produce("large", value, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(120) == 0
    assert failed == [None] * 10

    consumer = Consumer(told | {"group.id": "g", "fetch.message.max.bytes": 60 * MEBIBYTE})
    consumer.assign([TopicPartition("large", 0, OFFSET_BEGINNING)])
    read = [message.value() for message in consumer.consume(10, 120)]
    consumer.close()

    assert read == values


def test_kafka_python_writes_and_reads(broker: BrokerProcess, files: Certificates) -> None:
    arguments = python_arguments(broker.bootstrap_servers, files)
    producer = KafkaProducer(**arguments, acks="all")
    for number in range(RECORDS):
        producer.send("kafka-python", b"%d" % number)
    producer.close(60)

    consumer = KafkaConsumer(**arguments, auto_offset_reset="earliest", consumer_timeout_ms=60_000)
    consumer.assign([PyTopicPartition("kafka-python", 0)])
    read = [next(consumer).value for _ in range(RECORDS)]
    consumer.close()

    assert read == [b"%d" % number for number in range(RECORDS)]


def test_aiokafka_writes_and_reads(broker: BrokerProcess, files: Certificates) -> None:
    arguments = python_arguments(broker.bootstrap_servers, files)

    async def run() -> list[bytes | None]:
        producer = AIOKafkaProducer(**arguments)
        await producer.start()
        for number in range(RECORDS):
            await producer.send("aiokafka", b"%d" % number)
        await producer.stop()
        consumer = AIOKafkaConsumer(**arguments, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([AioTopicPartition("aiokafka", 0)])
        read = [(await asyncio.wait_for(consumer.getone(), 60)).value for _ in range(RECORDS)]
        await consumer.stop()
        return read

    assert asyncio.run(run()) == [b"%d" % number for number in range(RECORDS)]


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_javas_tools_check_the_host_and_show_their_certificate(
    broker: BrokerProcess,
    files: Certificates,
    tmp_path: Path,
    require_program: RequireProgram,
    version: str,
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    file = tmp_path / "client.properties"
    file.write_text(
        f"security.protocol=SSL\nssl.enabled.protocols={version}\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={files.ca}\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={files.client}\n"
    )
    java = ["java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*"]
    topic = f"java-{version}"
    port = broker.bootstrap_servers.rpartition(":")[2]

    def tool(name: str, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [*java, name, "--bootstrap-server", f"localhost:{port}", *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    tool(
        *("org.apache.kafka.tools.TopicCommand", "--command-config", str(file)),
        *("--create", "--topic", topic),
    )
    tool(
        *("org.apache.kafka.tools.ConsoleProducer", "--producer.config", str(file)),
        *("--topic", topic),
        given="one\ntwo\n",
    )
    read = tool(
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", "--consumer.config", str(file)),
        *("--topic", topic, "--from-beginning", "--max-messages", "2"),
    )

    assert read == "one\ntwo\n"


def refusal(told: dict[str, Any]) -> str:
    """Return why a client of librdkafka does not get through."""
    reasons: list[str] = []
    client = AdminClient(told | {"error_cb": lambda error: reasons.append(error.str())})
    asked = client.describe_cluster()

    def told_why() -> bool:
        client.poll(0)
        return any("ssl" in reason.lower() for reason in reasons)

    wait_until(told_why, "no reason came")
    assert not asked.done()
    return " ".join(reasons).lower()


def test_clients_and_brokers_that_do_not_trust_each_other_say_so(
    broker: BrokerProcess, files: Certificates, tmp_path: Path
) -> None:
    strangers = certificates.make(tmp_path / "strangers")
    servers = broker.bootstrap_servers
    expired = sign(files, "expired", named("old"), days=(-10, -1))

    assert "certificate verify failed" in refusal(properties(servers, strangers))
    assert "unknown ca" in refusal(properties(servers, files, strangers.client))
    assert "expired" in refusal(properties(servers, files, expired))
    without = properties(servers, files)
    del without["ssl.certificate.location"], without["ssl.key.location"]
    assert "certificate required" in refusal(without)
    text = broker.log_path.read_text()
    assert text.count("the client's certificate is refused") >= 2


def test_a_certificate_for_another_host_is_refused_by_the_client(
    files: Certificates, tmp_path: Path
) -> None:
    Authority(files.path)
    elsewhere = sign(files, "elsewhere", named("elsewhere"), host="elsewhere.example")
    settings = {"ssl.keystore.location": str(elsewhere)}
    with BrokerProcess(tmp_path / "data", LISTEN, settings) as process:
        assert "certificate verify failed" in refusal(properties(process.bootstrap_servers, files))


def served_certificate(servers: str) -> bytes:
    host, _, port = servers.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((host, int(port)), timeout=60) as raw,
        context.wrap_socket(raw) as client,
    ):
        return client.getpeercert(binary_form=True) or b""


def der(path: Path) -> bytes:
    text = path.read_text()
    return ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE") :])


def test_certificates_are_reloaded_on_sighup_and_by_their_setting(
    files: Certificates, tmp_path: Path
) -> None:
    renewed = certificates.make(tmp_path / "renewed").server
    path = tmp_path / "server.pem"
    path.write_bytes(files.server.read_bytes())
    tls_port = free_port()
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:{tls_port}",
        "listener.name.ssl.ssl.keystore.location": str(path),
    }
    with _WithoutListen(tmp_path / "data", settings=settings) as process:
        at = f"127.0.0.1:{tls_port}"
        path.write_bytes(renewed.read_bytes())
        assert served_certificate(at) == der(files.server)

        os.kill(process.pid, signal.SIGHUP)
        wait_until(lambda: served_certificate(at) == der(renewed), "it is not reloaded")

        path.write_bytes(files.server.read_bytes())
        admin = AdminClient({"bootstrap.servers": process.bootstrap_servers})
        alter(admin, "listener.name.ssl.ssl.keystore.location", str(path))
        assert served_certificate(at) == der(files.server)

        path.write_text("nonsense")
        with pytest.raises(KafkaException, match="there is no certificate"):
            alter(admin, "listener.name.ssl.ssl.keystore.location", str(path))
        assert served_certificate(at) == der(files.server)


def alter(admin: AdminClient, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "0", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(60)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert isinstance(port, int)
        return port


class _WithoutListen(BrokerProcess):
    """A broker whose listeners are settings."""

    def command(self) -> list[str]:
        command = super().command()
        place = command.index("--listen")
        return command[:place] + command[place + 2 :]


def test_half_open_handshakes_noise_and_plain_bytes_stop_no_client(
    broker: BrokerProcess, files: Certificates
) -> None:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    outgoing = ssl.MemoryBIO()
    hello = files.client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    first_flight = outgoing.read()
    opened = []
    for number in range(500):
        client = socket.create_connection((host, int(port)), timeout=60)
        client.sendall((first_flight, first_flight[:50], os.urandom(200), bytes(20))[number % 4])
        opened.append(client)

    found = AdminClient(properties(broker.bootstrap_servers, files)).list_topics(timeout=60)

    assert found.brokers
    for client in opened:
        client.close()


@pytest.mark.parametrize(
    "trial",
    [
        ("-tls1_2", "R\n", "no renegotiation"),
        ("-tls1_3", "K\nK\nQ\n", "KEYUPDATE"),
        ("-tls1_1", "Q\n", "alert protocol version"),
    ],
)
def test_openssl_cannot_renegotiate_and_may_change_its_keys(
    files: Certificates,
    tmp_path: Path,
    require_program: RequireProgram,
    trial: tuple[str, str, str],
) -> None:
    version, typed, answer = trial
    require_program("openssl", package="openssl")
    settings = {"ssl.keystore.location": str(files.server)}
    with BrokerProcess(tmp_path / "data", LISTEN, settings) as process:
        told = properties(process.bootstrap_servers, files)
        command = ["openssl", "s_client", version, "-connect", process.bootstrap_servers]
        command += ["-CAfile", str(files.ca), "-cipher", "DEFAULT@SECLEVEL=0"]

        done = subprocess.run(
            command, input=typed, capture_output=True, text=True, timeout=60, check=False
        )

        assert answer in done.stdout + done.stderr
        assert AdminClient(told).list_topics(timeout=60).brokers


def test_a_reader_that_stops_costs_the_others_nothing(
    broker: BrokerProcess, files: Certificates
) -> None:
    told = properties(broker.bootstrap_servers, files)
    producer = Producer(told)
    for _ in range(60):
        producer.produce("slow", os.urandom(500_000))
    assert producer.flush(60) == 0
    slow = Consumer(told | {"group.id": "slow", "queued.max.messages.kbytes": 1024})
    slow.assign([TopicPartition("slow", 0, OFFSET_BEGINNING)])
    assert slow.poll(60) is not None

    consumer = Consumer(told | {"group.id": "fast"})
    consumer.assign([TopicPartition("slow", 0, OFFSET_BEGINNING)])
    read = consumer.consume(60, 60)

    assert len(read) == 60
    assert len(slow.consume(59, 60)) == 59
    slow.close()
    consumer.close()

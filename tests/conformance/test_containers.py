"""`duolog.testing.containers` in place of testcontainers."""

import inspect
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from duolog.testing import Client
from duolog.testing.containers import KafkaContainer
from duolog.testing.local_broker.errors import FaultRefused


def round_trip(container: KafkaContainer) -> None:
    client = Client(container.get_bootstrap_server())
    client.produce("orders", None, "1")
    assert [record.value_text for record in client.read("orders")] == ["1"]


def test_a_suite_of_testcontainers_runs_unchanged() -> None:
    with KafkaContainer("confluentinc/cp-kafka:7.6.0", port=9888).with_kraft() as kafka:
        assert kafka.kraft_enabled
        assert kafka.port == 9888
        assert kafka.get_container_host_ip() in kafka.get_bootstrap_server()
        assert str(kafka.get_exposed_port(9888)) in kafka.get_bootstrap_server()
        round_trip(kafka)


def test_start_and_stop_work_without_with() -> None:
    kafka = KafkaContainer()

    kafka.start(timeout=60)
    started = kafka.start()
    pid = kafka.broker.pid
    kafka.stop(force=True)
    kafka.stop()

    assert started is kafka
    assert pid > 0
    with pytest.raises(FaultRefused, match="was not started"):
        kafka.get_bootstrap_server()


def test_the_constructor_has_the_parameters_of_testcontainers() -> None:
    """Those of testcontainers 4: a call that works there works here."""
    parameters = inspect.signature(KafkaContainer).parameters

    assert [name for name in parameters if name != "kwargs"] == [
        "image",
        "port",
        "wait_strategy_check_string",
        "listener_name",
        "security_protocol",
        "env",
        "volumes",
        "network",
        "network_aliases",
        "transferables",
    ]
    assert parameters["port"].default == 9093


def test_environment_variables_of_the_images_are_settings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    container = (
        KafkaContainer()
        .with_env("KAFKA_NUM_PARTITIONS", "3")
        .with_env("KAFKA_BROKER_ID", "7")
        .with_envs(KAFKA_NO_SUCH_SETTING="1", TZ="UTC")
    )

    with caplog.at_level(logging.WARNING), container as kafka:
        kafka.broker.client.produce("orders", None, "1")
        admin = AdminClient({"bootstrap.servers": kafka.get_bootstrap_server()})
        assert len(admin.list_topics("orders", 60).topics["orders"].partitions) == 3
        assert kafka.get_wrapped_container().status == "running"
        assert b"listener is ready" in kafka.get_logs()[1]
        assert b"started (kafka.server.KafkaServer)" in kafka.get_logs()[0]

    (warning,) = (r for r in caplog.records if r.name == "duolog.testing.containers")
    assert vars(warning)["settings"] == "no.such.setting"


def test_env_of_the_constructor_and_env_files_are_settings(tmp_path: Path) -> None:
    file = tmp_path / "kafka.env"
    file.write_text("# Partitions\nexport KAFKA_NUM_PARTITIONS='3'\n\nTZ=UTC\n")
    container = KafkaContainer(
        env={"KAFKA_NUM_PARTITIONS": "2", "KAFKA_MESSAGE_MAX_BYTES": "12345"},
        name="kafka",
        ports=[9093],
        command="run",
    ).with_env_file(file)

    with container as kafka:
        kafka.broker.client.produce("orders", None, "1")
        admin = AdminClient({"bootstrap.servers": kafka.get_bootstrap_server()})
        resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
        configs = admin.describe_configs([resource])[resource].result(60)
        assert len(admin.list_topics("orders", 60).topics["orders"].partitions) == 3

    assert configs["max.message.bytes"].value == "12345"
    assert kafka.env["TZ"] == "UTC"


def test_a_bound_port_is_the_port_of_the_broker() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with KafkaContainer().with_bind_ports("9093/tcp", port) as kafka:
        assert kafka.get_bootstrap_server() == f"127.0.0.1:{port}"
        assert kafka.get_exposed_port("9093/tcp") == port


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda kafka: kafka.with_network(None), "a Docker network needs a real container"),
        (lambda kafka: kafka.with_volume_mapping("/a", "/b"), "a volume needs a real"),
        (lambda kafka: kafka.exec("ls"), "the command ls needs a real"),
        (lambda kafka: kafka.with_copy_into_container(b"1", "/f"), "a file in the container"),
        (lambda _: KafkaContainer(volumes=[("/a", "/b", "ro")]), "a volume needs a real"),
        (lambda _: KafkaContainer(network="kafka"), "a Docker network needs a real container"),
        (lambda _: KafkaContainer(network_aliases=["kafka"]), "a Docker network needs a real"),
        (lambda _: KafkaContainer(transferables=[(b"1", "/f")]), "a file in the container"),
        (lambda _: KafkaContainer(security_protocol="SSL"), "security protocol SSL needs a real"),
        (lambda kafka: kafka.get_exposed_port(2181), "the port 2181 needs a real"),
    ],
    ids=[
        "network",
        "volume",
        "command",
        "file",
        "volumes",
        "network of the constructor",
        "aliases",
        "transferables",
        "security",
        "port",
    ],
)
def test_what_needs_a_container_is_refused(
    use: Callable[[KafkaContainer], object], message: str
) -> None:
    with pytest.raises(FaultRefused, match=message):
        use(KafkaContainer())

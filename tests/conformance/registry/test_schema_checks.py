"""A broker with a registry refuses records of confluent-kafka whose schema ids are not registered."""

import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from conformance.registry.clients import ask, record_schema, register

if TYPE_CHECKING:
    from pathlib import Path

CHECK = "confluent.value.schema.validation"
_WAIT_S = 60


class Servers(NamedTuple):
    bootstrap: str
    registry: str
    admin: AdminClient

    def create(self, topic: str, **config: str) -> None:
        made = self.admin.create_topics([NewTopic(topic, 1, config=config)])
        made[topic].result(_WAIT_S)

    def produce(self, topic: str, *values: bytes | None, **config: object) -> list[int]:
        """Send values together; return the error code of each, 0 for none."""
        codes: dict[int, int] = {}
        settings = {"bootstrap.servers": self.bootstrap, "linger.ms": 100, "log_level": 0}
        producer = Producer(settings | config)
        for number, value in enumerate(values):

            def delivered(error: ClientError | None, _: Message, at: int = number) -> None:
                codes[at] = 0 if error is None else error.code()

            producer.produce(topic, value, on_delivery=delivered)
        assert producer.flush(_WAIT_S) == 0
        return [codes[number] for number in range(len(values))]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A broker that runs a registry, as a user starts it."""
    data: Path = tmp_path_factory.mktemp("broker")
    command = [sys.executable, "-P", "-m", "duolog", "broker", "--data", str(data / "data")]
    command += ["--listen", "127.0.0.1:0", "--registry", "127.0.0.1:0", "-c", "durability=os"]
    with (data / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert process.stdout is not None
        bootstrap = process.stdout.readline().decode().split()[-1]
        url = process.stdout.readline().decode().split()[-1]
        yield Servers(bootstrap, url, AdminClient({"bootstrap.servers": bootstrap}))
        process.terminate()
        process.wait(120)
        process.stdout.close()


def test_a_producer_receives_the_records_that_are_refused(servers: Servers) -> None:
    answer = register(servers.registry, "orders-value", record_schema("Order"))
    good = b"\0" + int(answer.body["id"]).to_bytes(4) + b"\2a"
    unknown = b"\0" + (99).to_bytes(4) + b"\2a"
    servers.create("orders", **{CHECK: "true"})

    assert servers.produce("orders", good, None, good) == [0, 0, 0]
    refused = servers.produce("orders", good, unknown, b"{}")

    # librdkafka gives records of a refused batch that are not themselves to blame another error.
    different = ClientError._INVALID_DIFFERENT_RECORD  # noqa: SLF001
    assert refused == [different, ClientError.INVALID_RECORD, ClientError.INVALID_RECORD]
    assert servers.produce("orders", good, **{"enable.idempotence": True}) == [0]


def test_what_a_serializer_registers_is_taken(servers: Servers) -> None:
    servers.create("serialized", **{CHECK: "true"})
    context = SerializationContext("serialized", MessageField.VALUE)

    with SchemaRegistryClient({"url": servers.registry}) as registry:
        value = AvroSerializer(registry, record_schema("Serialized"))({"f": "text"}, context)

    assert servers.produce("serialized", value) == [0]


def test_the_settings_are_described_and_changed(servers: Servers) -> None:
    servers.create("described")
    resource = ConfigResource(ConfigResource.Type.TOPIC, "described")

    def described() -> dict[str, str]:
        found = servers.admin.describe_configs([resource])[resource].result(_WAIT_S)
        return {name: entry.value for name, entry in found.items() if "confluent" in name}

    # Apache Kafka does not have them, so a copy of a topic's configs must not name the defaults.
    assert described() == {}
    assert servers.produce("described", b"anything") == [0]
    turned_on = ConfigResource(
        ConfigResource.Type.TOPIC,
        "described",
        incremental_configs=[
            ConfigEntry(CHECK, "true", incremental_operation=AlterConfigOpType.SET)
        ],
    )
    servers.admin.incremental_alter_configs([turned_on])[turned_on].result(_WAIT_S)
    assert described() == {CHECK: "true"}
    assert servers.produce("described", b"anything") == [ClientError.INVALID_RECORD]


def test_an_unknown_strategy_is_refused(servers: Servers) -> None:
    with pytest.raises(KafkaException, match="must be one of"):
        servers.create("strange", **{"confluent.value.subject.name.strategy": "com.acme.Mine"})


def test_a_schema_of_another_subject_is_refused(servers: Servers) -> None:
    answer = register(servers.registry, "others-value", record_schema("Other"))
    servers.create("mixed", **{CHECK: "true"})

    value = b"\0" + int(answer.body["id"]).to_bytes(4) + b"\2a"

    assert servers.produce("mixed", value) == [ClientError.INVALID_RECORD]
    assert ask(servers.registry, "GET", "/subjects").status == 200


def test_a_schema_is_accepted_as_soon_as_a_new_subject_has_it(servers: Servers) -> None:
    """The broker sees that its own registry has written, and asks again at once."""
    answer = register(servers.registry, "first-value", record_schema("Shared"))
    value = b"\0" + int(answer.body["id"]).to_bytes(4) + b"\2a"
    servers.create("first", **{CHECK: "true"})
    servers.create("second", **{CHECK: "true"})
    assert servers.produce("first", value) == [0]
    assert servers.produce("second", value) == [ClientError.INVALID_RECORD]

    again = register(servers.registry, "second-value", record_schema("Shared"))

    assert again.body == answer.body
    assert servers.produce("second", value) == [0]

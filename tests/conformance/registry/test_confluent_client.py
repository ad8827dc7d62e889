"""Confluent's own Python client, unchanged, against the registry."""

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from conformance.registry.clients import record_schema

ORDER = """{"type": "record", "name": "Order", "namespace": "shop", "fields": [
    {"name": "id", "type": "long"},
    {"name": "note", "type": ["null", "string"], "default": null}]}"""


@pytest.fixture
def client(registry: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry}) as made:
        yield made


def test_a_schema_is_registered_found_and_deleted(client: SchemaRegistryClient) -> None:
    schema = Schema(ORDER, "AVRO")

    number = client.register_schema("shop/orders-value", schema)
    found = client.lookup_schema("shop/orders-value", schema)
    latest = client.get_latest_version("shop/orders-value")

    assert number == 1
    assert (found.schema_id, found.version, found.subject) == (1, 1, "shop/orders-value")
    assert latest.version == 1
    assert client.get_schema(number).schema_type == "AVRO"
    assert client.get_subjects() == ["shop/orders-value"]
    assert client.get_versions("shop/orders-value") == [1]
    assert client.delete_subject("shop/orders-value") == [1]
    assert client.delete_subject("shop/orders-value", permanent=True) == [1]
    assert client.get_subjects() == []


def test_errors_reach_the_caller_with_their_codes(client: SchemaRegistryClient) -> None:
    client.register_schema("a", Schema(record_schema("R"), "AVRO"))

    with pytest.raises(SchemaRegistryError) as unknown:
        client.get_latest_version("unknown")
    with pytest.raises(SchemaRegistryError) as invalid:
        client.register_schema("a", Schema("not a schema", "AVRO"))
    with pytest.raises(SchemaRegistryError) as incompatible:
        client.register_schema("a", Schema('"string"', "AVRO"))

    assert (unknown.value.http_status_code, unknown.value.error_code) == (404, 40401)
    assert (invalid.value.http_status_code, invalid.value.error_code) == (422, 42201)
    assert (incompatible.value.http_status_code, incompatible.value.error_code) == (409, 409)


def test_compatibility_and_configurations(client: SchemaRegistryClient) -> None:
    client.register_schema("a", Schema(record_schema("R"), "AVRO"))

    client.set_config("a", ServerConfig(compatibility=ConfigCompatibilityLevel.FULL))

    assert client.get_config("a").compatibility_level == "FULL"
    assert client.test_compatibility("a", Schema(record_schema("R"), "AVRO"))
    assert not client.test_compatibility("a", Schema('"string"', "AVRO"))
    client.set_config(config=ServerConfig(compatibility=ConfigCompatibilityLevel.NONE))
    assert client.get_config().compatibility_level == "NONE"


def test_references(client: SchemaRegistryClient) -> None:
    client.register_schema("part", Schema(record_schema("Part"), "AVRO"))
    whole = '{"type": "record", "name": "Whole", "fields": [{"name": "part", "type": "Part"}]}'
    schema = Schema(whole, "AVRO", [SchemaReference("Part", "part", 1)])

    number = client.register_schema("whole", schema)

    assert number == 2
    assert client.get_schema(number).references == [SchemaReference("Part", "part", 1)]


@pytest.mark.parametrize("in_header", [False, True])
def test_the_serializer_registers_and_the_deserializer_reads(
    client: SchemaRegistryClient, *, in_header: bool
) -> None:
    headers: list[tuple[str, str | bytes | None]] = []
    context = SerializationContext("orders", MessageField.VALUE, headers)
    settings = {"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    serialize = AvroSerializer(client, ORDER, conf=settings)
    deserialize = AvroDeserializer(client, ORDER)

    payload = serialize({"id": 7, "note": "a longer note"}, context)

    assert payload is not None
    assert (payload[0] == 0) is not in_header
    assert deserialize(payload, context) == {"id": 7, "note": "a longer note"}
    assert client.get_subjects() == ["orders-value"]

"""Sources of schemas: by address, and references resolved."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import RegistryError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language, Reference, Schema
from duolog.schemas.source import (
    CachedSchemas,
    SchemaSource,
    SchemaText,
    provide,
    provide_scheme,
    resolved,
    source_at,
    withdraw,
)


@pytest.fixture
def address() -> Iterator[str]:
    yield "test-scheme://a"
    withdraw("test-scheme://a")


def test_an_address_stands_for_the_source_that_was_provided_last(address: str) -> None:
    first, second = InProcessRegistry(), InProcessRegistry()

    provide(address, first)
    assert source_at(address) is first
    provide(address, second)
    assert source_at(address) is second
    withdraw(address)
    with pytest.raises(RegistryError, match="cannot reach the schema registry"):
        source_at(address)


def test_a_scheme_opens_each_address_once() -> None:
    opened: list[str] = []

    def open_source(address: str) -> SchemaSource:
        opened.append(address)
        return InProcessRegistry()

    provide_scheme("test-opened", open_source)

    assert source_at("test-opened://a") is source_at("test-opened://a")
    assert source_at("test-opened://b") is not source_at("test-opened://a")
    assert opened == ["test-opened://a", "test-opened://b"]
    withdraw("test-opened://a")
    withdraw("test-opened://b")


def test_a_reference_is_resolved_after_what_it_needs_itself() -> None:
    a, b = Reference("A", "a", 1), Reference("B", "b", 1)
    texts = {
        a: SchemaText(Language.AVRO, '{"type":"record","name":"A","fields":[]}'),
        b: SchemaText(
            Language.AVRO,
            '{"type":"record","name":"B","fields":[{"name":"a","type":"A"}]}',
            (a,),
        ),
    }
    text = '{"type":"record","name":"C","fields":[{"name":"b","type":"B"}]}'

    schema = resolved(SchemaText(Language.AVRO, text, (b, a)), texts.__getitem__)

    assert schema.canonical == text
    assert '"name":"A"' in schema.formatted("resolved")


def test_references_in_a_circle_end() -> None:
    a, b = Reference("a.proto", "a", 1), Reference("b.proto", "b", 1)
    texts = {
        a: SchemaText(Language.PROTOBUF, 'syntax = "proto3"; message A {}', (b,)),
        b: SchemaText(Language.PROTOBUF, 'syntax = "proto3"; message B {}', (a,)),
    }

    schema = resolved(
        SchemaText(Language.PROTOBUF, 'syntax = "proto3"; import "a.proto"; message C {}', (a,)),
        texts.__getitem__,
    )

    assert schema.name == "C"


def test_a_schema_is_read_once() -> None:
    registry = InProcessRegistry()
    registry.register("a-value", SchemaText(Language.AVRO, '"int"'))
    read: list[int] = []

    def by_id(schema_id: int) -> Schema:
        read.append(schema_id)
        return registry.by_id(schema_id)

    schemas = CachedSchemas(by_id)

    assert schemas[1] is schemas[1]
    assert read == [1]

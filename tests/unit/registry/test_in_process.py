"""A registry in the process of a test."""

import pytest

from duolog.core.errors import RegistryError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText, UnknownSchemaError

POINT = '{"type":"record","name":"Point","fields":[{"name":"x","type":"int"}]}'
LINE = '{"type":"record","name":"Line","fields":[{"name":"from","type":"Point"}]}'


def avro(text: str, *references: Reference) -> SchemaText:
    return SchemaText(Language.AVRO, text, references)


def test_equal_schemas_have_one_id_and_versions_count_by_subject() -> None:
    registry = InProcessRegistry()

    ids = [registry.register(subject, avro(POINT)) for subject in ("a-value", "b-value")]

    assert ids == [1, 1]
    latest = registry.latest("b-value")
    assert latest is not None
    assert (latest.number, latest.schema.text) == (1, POINT)
    assert registry.id_of("a-value", avro(POINT)) == 1
    assert registry.id_of("a-value", avro(LINE.replace("Point", "int"))) is None
    assert registry.latest("c-value") is None


def test_a_schema_is_resolved_with_what_it_refers_to() -> None:
    registry = InProcessRegistry()
    registry.register("point", avro(POINT))

    line = registry.register("line", avro(LINE, Reference("Point", "point", 1)))

    assert '"name":"x"' in registry.by_id(line).formatted("resolved")
    assert registry.text_of(line).references == (Reference("Point", "point", 1),)


def test_an_imported_schema_keeps_its_id_and_the_next_one_is_higher() -> None:
    registry = InProcessRegistry()

    imported = registry.register("a-value", avro('"int"'), schema_id=100)

    assert imported == 100
    assert registry.register("b-value", avro('"long"')) == 101
    assert registry.by_id(100).canonical == '"int"'
    # Importing is over: the registry chooses ids again.
    assert registry.register("a-value", avro('["int","null"]')) == 102


def test_an_incompatible_schema_is_refused_and_said_to_be() -> None:
    registry = InProcessRegistry()
    registry.register("a-value", avro('"int"'))

    reasons = registry.check("a-value", avro('"string"'))

    assert "TYPE_MISMATCH" in reasons[0]
    assert registry.check("b-value", avro('"string"')) == ()
    with pytest.raises(RegistryError, match="incompatible"):
        registry.register("a-value", avro('"string"'))


def test_an_unknown_id_is_an_error_of_its_own() -> None:
    with pytest.raises(UnknownSchemaError, match="no schema of id 7"):
        InProcessRegistry().by_id(7)

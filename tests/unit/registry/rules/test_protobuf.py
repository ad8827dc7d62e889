"""The rules with Protobuf: references, built-in files, tags, and the serialized form."""

from typing import TYPE_CHECKING

import pytest

from duolog.registry.errors import RequestError
from unit.registry.harness import Harness, request, shown

if TYPE_CHECKING:
    from duolog.registry.json_text import Json

BASE = 'syntax = "proto3"; package a; message T { string x = 1; }'
USER = """
syntax = "proto3";
package a;
import "base.proto";
import "google/protobuf/timestamp.proto";
import "confluent/meta.proto";
message U {
  T t = 1;
  google.protobuf.Timestamp at = 2;
  string z = 3 [(confluent.field_meta).tags = "PII"];
}
"""


@pytest.fixture
def referring(harness: Harness) -> Harness:
    harness.register("base", BASE, schemaType="PROTOBUF")
    reference: Json = {"name": "base.proto", "subject": "base", "version": 1}
    harness.register("user", USER, schemaType="PROTOBUF", references=[reference])
    return harness


def test_imports_are_references_or_built_in(referring: Harness) -> None:
    answer = shown(referring.registry.version("user", "1"))

    assert isinstance(answer, dict)
    assert answer["schemaType"] == "PROTOBUF"
    assert answer["references"] == [{"name": "base.proto", "subject": "base", "version": 1}]
    with pytest.raises(RequestError) as caught:
        referring.register("other", USER, schemaType="PROTOBUF")
    assert caught.value.code == 42201


def test_the_tags_of_a_field(referring: Harness) -> None:
    answer = referring.registry.version("user", "1", find_tags=["PII"])

    assert [(tags.entity_path, tags.tags) for tags in answer.tags] == [("U.z", ("PII",))]


def test_a_registration_adds_tags(referring: Harness) -> None:
    entity = {"entityPath": "T.x", "entityType": "sr_field"}
    tags: Json = [{"schemaEntity": entity, "tags": ["PII"]}]

    referring.register("base", BASE, schemaType="PROTOBUF", schemaTagsToAdd=tags)

    assert "confluent.field_meta" in referring.registry.version("base", "2").schema
    unknown: Json = [{"schemaEntity": {**entity, "entityPath": "T.no"}, "tags": ["PII"]}]
    with pytest.raises(RequestError) as caught:
        referring.register("base", BASE, schemaType="PROTOBUF", schemaTagsToAdd=unknown)
    assert caught.value.code == 42201


def test_a_schema_is_found_by_its_serialized_form(referring: Harness) -> None:
    serialized = referring.registry.version("base", "1", form="serialized").schema

    found = referring.registry.look_up("base", request(serialized, schemaType="PROTOBUF"))

    assert found.version == 1


def test_an_incompatible_change_is_named(referring: Harness) -> None:
    changed = request(BASE.replace("string x", "int32 x"), schemaType="PROTOBUF")

    answer = referring.registry.compatibility("base", None, changed, verbose=True)

    assert answer.messages is not None
    assert answer.messages[0] == (
        '{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"The kind of a SCALAR field at path '
        "'#/T/1' in the new schema does not match its kind in the old schema\"}"
    )


def test_validated_fields_are_those_of_the_first_messages(harness: Harness) -> None:
    harness.configure("s", validateFields=True)
    reserved = {"properties": {"confluent:reserved": "x"}}

    with pytest.raises(RequestError, match="conflicts with the reserved field x"):
        harness.register("s", BASE, schemaType="PROTOBUF", metadata=reserved)


@pytest.mark.parametrize("text", ["syntax = 'proto3'; message {", "message A { A a = 0; }", "{}"])
def test_a_text_that_is_not_protobuf_has_code_42201(harness: Harness, text: str) -> None:
    with pytest.raises(RequestError, match="Invalid schema of type PROTOBUF, details: ") as caught:
        harness.register("s", text, schemaType="PROTOBUF")

    assert caught.value.code == 42201

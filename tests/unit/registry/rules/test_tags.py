import json

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.rules import TagRequest
from duolog.registry.rules.entities import field_names, tags_of, with_tags
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from unit.registry.harness import Harness, shown, string_record

A = string_record("A", "x", "y")
TAGGED = A.replace('"name":"x",', '"name":"x","confluent:tags":["PII"],')
FIELD_X = {"entityPath": "A.x", "entityType": "sr_field"}
RECORD_A = {"entityPath": ".A", "entityType": "sr_record"}

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "com.acme",
    "confluent:tags": ["TOP"],
    "fields": [
        {"name": "id", "type": "int", "confluent:tags": ["KEY"]},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "price", "type": "int", "confluent:tags": ["MONEY"]}],
                },
            },
        },
        {
            "name": "other",
            "type": [
                "null",
                {"type": "map", "values": {"type": "record", "name": "x.Y", "fields": []}},
            ],
        },
    ],
}
CUSTOMER = {
    "type": "object",
    "confluent:tags": ["TOP"],
    "properties": {
        "name": {"type": "string", "confluent:tags": ["PII"]},
        "address": {"type": "object", "properties": {"zip": {"confluent:tags": ["PII", "GEO"]}}},
        "orders": {"type": "array", "items": {"properties": {"id": {"confluent:tags": ["KEY"]}}}},
    },
    "definitions": {"X": {"oneOf": [{"properties": {"a": {"confluent:tags": ["D"]}}}]}},
}


def avro(document: object) -> Schema:
    return parse(Language.AVRO, json.dumps(document), {})


def json_schema(document: object) -> Schema:
    return parse(Language.JSON, json.dumps(document), {})


def test_the_tags_of_an_avro_schema_by_full_name() -> None:
    assert tags_of(avro(ORDER)) == {
        ("sr_record", "com.acme.Order"): ("TOP",),
        ("sr_field", "com.acme.Order.id"): ("KEY",),
        ("sr_field", "com.acme.Line.price"): ("MONEY",),
    }


def test_the_tags_of_a_json_schema_by_path() -> None:
    assert tags_of(json_schema(CUSTOMER)) == {
        ("sr_record", "object"): ("TOP",),
        ("sr_field", "object.name"): ("PII",),
        ("sr_field", "object.address.object.zip"): ("PII", "GEO"),
        ("sr_field", "object.orders.array.object.id"): ("KEY",),
        ("sr_field", "object.definitions.X.oneof.0.object.a"): ("D",),
    }


def test_top_level_fields() -> None:
    assert field_names(avro(ORDER)) == {"id", "lines", "other"}
    assert field_names(json_schema(CUSTOMER)) == {"name", "address", "orders"}
    assert field_names(avro("string")) == frozenset()


def test_tags_are_added_first_and_removed_then() -> None:
    schema = avro(ORDER)

    text = with_tags(
        schema,
        {("sr_record", "x.Y"): ("NEW", "OLD")},
        {("sr_field", "com.acme.Order.id"): ("KEY",), ("sr_record", "x.Y"): ("OLD",)},
    )

    assert '"name":"Y","namespace":"x","fields":[],"confluent:tags":["NEW"]' in text
    assert "KEY" not in text


def test_a_path_that_leads_nowhere_has_code_42201() -> None:
    with pytest.raises(
        RequestError, match=r"No matching path 'com\.acme\.Order\.no' found"
    ) as caught:
        with_tags(avro(ORDER), {("sr_field", "com.acme.Order.no"): ("T",)}, {})

    assert caught.value.code == 42201


def test_a_registration_adds_tags(harness: Harness) -> None:
    harness.register("s", A, schemaTagsToAdd=[{"schemaEntity": FIELD_X, "tags": ["PII"]}])

    answer = harness.registry.version("s", "1", find_tags=["PII"])

    assert answer.schema.count('"confluent:tags":["PII"]') == 1
    assert answer.metadata is not None
    assert answer.metadata.properties == {"confluent:version": "1"}
    shown_tags = [{"schemaEntity": FIELD_X, "tags": ("PII",)}]
    answer_json = shown(answer)
    assert isinstance(answer_json, dict)
    assert answer_json["schemaTags"] == shown_tags
    by_id = shown(harness.registry.schema_by_id(1, find_tags=["*"]))
    assert isinstance(by_id, dict)
    assert by_id["schemaTags"] == shown_tags
    assert "schemaTags" not in str(shown(harness.registry.version("s", "1", find_tags=["KEY"])))


def test_tags_of_the_latest_version_are_propagated(harness: Harness) -> None:
    harness.register("s", TAGGED)
    newer = string_record("A", "x", "y", optional=("z",))

    harness.register("s", newer, propagateSchemaTags=True)

    assert '"confluent:tags":["PII"]' in harness.registry.version("s", "2").schema


def test_tags_of_a_version_make_a_new_version(harness: Harness) -> None:
    harness.register("s", A)
    body = TagRequest.from_json(
        {
            "tagsToAdd": [
                {"schemaEntity": FIELD_X, "tags": ["PII"]},
                {"schemaEntity": RECORD_A, "tags": ["TOP"]},
            ],
            "metadata": {"properties": {"a": "1"}},
            "ruleSet": {"domainRules": [{"name": "r", "type": "CEL"}]},
        }
    )

    answer = harness.commit(harness.registry.change_tags("s", "latest", body))

    assert (answer.schema.version, answer.schema.id) == (2, 2)
    latest = harness.registry.version("s", "2", find_tags=["*"])
    assert {tags.entity_path: tags.tags for tags in latest.tags} == {
        "A": ("TOP",),
        "A.x": ("PII",),
    }
    assert latest.metadata is not None
    assert latest.metadata.properties == {"a": "1", "confluent:version": "2"}
    assert latest.rule_set is not None

    removal = TagRequest.from_json(
        {
            "newVersion": 3,
            "tagsToRemove": [{"schemaEntity": FIELD_X, "tags": ["PII"]}],
            "rulesToMerge": {"domainRules": [{"name": "q", "type": "CEL"}]},
            "rulesToRemove": ["r"],
        }
    )
    harness.commit(harness.registry.change_tags("s", "2", removal))
    last = harness.registry.version("s", "3", find_tags=["*"])
    assert [tags.entity_path for tags in last.tags] == ["A"]
    assert last.rule_set is not None
    assert [rule.name for rule in last.rule_set.domain_rules] == ["q"]


@pytest.mark.parametrize(
    ("subject", "version", "body", "code"),
    [
        ("none", "1", {}, 40401),
        ("s", "9", {}, 40402),
        ("s", "0", {}, 42202),
        ("a\0", "1", {}, 42208),
        ("s", "1", {"ruleSet": {}, "rulesToRemove": ["r"]}, 42210),
        ("s", "1", {"rulesToMerge": {"domainRules": [{"name": "r"}]}}, 42210),
        ("s", "1", {"newVersion": 7}, 42201),
    ],
)
def test_changes_of_tags_that_are_refused(
    harness: Harness, subject: str, version: str, body: dict[str, int], code: int
) -> None:
    harness.register("s", A)

    with pytest.raises(RequestError) as caught:
        harness.registry.change_tags(subject, version, TagRequest.from_json(body))

    assert caught.value.code == code


def test_an_entity_without_a_path_has_code_400() -> None:
    with pytest.raises(RequestError) as caught:
        TagRequest.from_json({"tagsToAdd": [{"tags": ["PII"]}]})

    assert caught.value.code == 400

"""Parsing JSON Schemas: drafts, meta-schemas, references."""

import dataclasses
import json
import socket
from typing import Any, NoReturn

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import parse, shapes
from duolog.schemas.schema import Language

D4 = "http://json-schema.org/draft-04/schema#"
D6 = "http://json-schema.org/draft-06/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"
D20 = "https://json-schema.org/draft/2020-12/schema"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a schema makes this process open a connection."""

    def refuse(*_args: object, **_keywords: object) -> NoReturn:
        raise AssertionError("a schema was fetched")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_the_canonical_text_keeps_the_order_of_keys_and_the_normalized_text_sorts_them() -> None:
    schema = parse('{"type": "object",\n "properties": {"b": {"maximum": 1.50}, "a": true}}', {})

    assert schema.language is Language.JSON
    assert schema.canonical == '{"type":"object","properties":{"b":{"maximum":1.50},"a":true}}'
    assert schema.normalized() == '{"properties":{"a":true,"b":{"maximum":1.50}},"type":"object"}'
    assert schema.formatted("resolved") == schema.formatted("") == schema.canonical


@pytest.mark.parametrize(
    ("text", "name"),
    [('{"title": "Order"}', "Order"), ('{"type": "object"}', None), ("true", None)],
)
def test_the_title_is_the_name(text: str, name: str | None) -> None:
    assert parse(text, {}).name == name


def test_schemas_are_equal_if_their_canonical_texts_are() -> None:
    assert parse('{"type": "null"}', {}) == parse('{"type":"null"}', {})
    assert parse('{"type": "null"}', {}) != parse('{"type":"boolean"}', {})
    assert len({parse("true", {}), parse(" true ", {})}) == 1


@pytest.mark.parametrize("text", ["1", '"a"', "null", "[]", "1.5"])
def test_a_schema_is_an_object_or_a_boolean(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="must be an object or a boolean"):
        parse(text, {})


@pytest.mark.parametrize(
    ("draft", "valid"),
    [
        (D4, {"exclusiveMinimum": True, "minimum": 1}),
        (D6, {"exclusiveMinimum": 1}),
        (None, {"exclusiveMinimum": 1}),
        ("http://example.com/my-dialect", {"exclusiveMinimum": 1}),
        (D6, {"const": {"type": 5}}),
        (D4, {"const": 1, "contains": 5}),
        (D7, {"if": True, "then": {"type": "null"}}),
        (D7, {"items": [True, {"type": "null"}], "additionalItems": False}),
        (D19, {"items": [True], "$defs": {"a": True}}),
        (D19, {"$recursiveAnchor": True, "items": {"$recursiveRef": "#"}}),
        (D20, {"prefixItems": [True], "items": False}),
        (D20, {"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}),
        (D7, {"required": []}),
        (D7, {"examples": [1, {"type": 5}], "default": {"type": 5}, "unknown": {"type": 5}}),
        (D7, {"properties": {"type": {"type": "string"}, "$ref": {"type": "string"}}}),
        (D7, {"enum": [1, "1", True, [1], {"a": 1}]}),
    ],
)
def test_a_schema_that_conforms_to_its_draft_is_accepted(
    draft: str | None, valid: dict[str, object]
) -> None:
    text = json.dumps(({"$schema": draft} if draft else {}) | valid)

    assert parse(text, {}).canonical


@pytest.mark.parametrize(
    ("draft", "invalid", "place"),
    [
        (D4, {"exclusiveMinimum": 1, "minimum": 1}, "#"),
        (D6, {"exclusiveMinimum": True}, "#"),
        (None, {"exclusiveMinimum": True}, "#"),
        (D4, {"properties": {"a": True}}, "#"),
        (D4, {"required": []}, "#"),
        (D4, {"enum": [1, 1.0]}, "#"),
        (D4, {"$ref": 5}, "#"),
        (D7, {"type": "text"}, "#"),
        (D7, {"type": ["string", "string"]}, "#"),
        (
            D7,
            {"properties": {"a": {"properties": {"b": {"type": 5}}}}},
            "#/properties/a/properties/b",
        ),
        (D7, {"properties": {"a": 5}}, "#"),
        (D7, {"properties": []}, "#"),
        (D7, {"items": [{}, 5]}, "#"),
        (D7, {"allOf": []}, "#"),
        (D7, {"allOf": [True, {"minLength": -1}]}, "#/allOf/1"),
        (D7, {"minLength": 1.5}, "#"),
        (D7, {"multipleOf": 0}, "#"),
        (D7, {"multipleOf": -0.5}, "#"),
        (D7, {"required": ["a", "a"]}, "#"),
        (D7, {"required": ["a", 1]}, "#"),
        (D7, {"required": "a"}, "#"),
        (D7, {"dependencies": {"a": ["b", 1]}}, "#"),
        (D7, {"dependencies": {"a": "b"}}, "#"),
        (D7, {"dependencies": {"a": {"type": 5}}}, "#/dependencies/a"),
        (D7, {"definitions": {"unused": {"type": 5}}}, "#/definitions/unused"),
        (D7, {"uniqueItems": "yes"}, "#"),
        (D7, {"examples": 5}, "#"),
        (D19, {"dependentRequired": {"a": ["b", "b"]}}, "#"),
        (D19, {"$anchor": "1a"}, "#"),
        (D19, {"$id": "a#b"}, "#"),
        (D20, {"items": [True]}, "#"),
        (D20, {"prefixItems": []}, "#"),
        (D20, {"$defs": {"a": {"maxContains": "1"}}}, "#/$defs/a"),
        (D20, {"$dynamicAnchor": "a:b"}, "#"),
    ],
)
def test_a_schema_that_violates_its_meta_schema_is_refused_with_its_place(
    draft: str | None, invalid: dict[str, object], place: str
) -> None:
    text = json.dumps(({"$schema": draft} if draft else {}) | invalid)

    with pytest.raises(InvalidSchemaError) as caught:
        parse(text, {})

    assert f"at {place} is" in caught.value.message


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_an_invalid_regular_expression_is_refused(keyword: str) -> None:
    value = "a(" if keyword == "pattern" else {"a(": {}}

    with pytest.raises(InvalidSchemaError, match="#/properties/a has an invalid regular"):
        parse(json.dumps({"properties": {"a": {keyword: value}}}), {})


def test_a_schema_of_another_type_of_registry_can_be_parsed_without_checks() -> None:
    text = json.dumps({
        "type": 5, "required": "a", "properties": {"b": 7, "a": {"items": [3], "minLength": "x"}},
        "allOf": {}, "enum": 1, "patternProperties": {"(": 5}, "dependencies": {"a": "b"}, "not": 1,
        "additionalProperties": "no", "multipleOf": "x", "pattern": 1, "anyOf": [1, "a"],
    })  # fmt: skip
    schema = parse(text, {}, strict=False)

    assert schema.incompatibilities(schema) == ()


def test_a_list_in_items_of_an_unchecked_schema_of_2020_12_is_compared() -> None:
    listed = parse(json.dumps({"$schema": D20, "items": [{"type": "string"}]}), {}, strict=False)
    other = parse(json.dumps({"$schema": D20, "items": {"type": "string"}}), {})

    assert listed.incompatibilities(listed) == ()
    assert listed.incompatibilities(other) != ()


@pytest.mark.parametrize("types", ["text", ["null", "text"]])
def test_an_unknown_type_of_an_unchecked_schema_is_named_when_it_is_compared(types: object) -> None:
    unknown = parse(json.dumps({"type": types}), {}, strict=False)
    known = parse('{"type": "string"}', {})

    for reader, writer in ((unknown, known), (known, unknown)):
        with pytest.raises(InvalidSchemaError, match='"text" is not a type of JSON Schema'):
            reader.incompatibilities(writer)


class TestReferences:
    """A `$ref` leads into the schema, into a reference of the registry, or is an error."""

    @pytest.mark.parametrize(
        ("draft", "document"),
        [
            (D7, {"$ref": "#/definitions/a", "definitions": {"a": {}}}),
            (D7, {"items": {"$ref": "#"}}),
            (D7, {"$ref": "#/$defs/a", "definitions": {"a": {}}}),
            (D20, {"$ref": "#/$defs/a", "definitions": {"a": {}}}),
            (D7, {"$ref": "#/definitions/a~1b%25~0c", "definitions": {"a/b%~c": {}}}),
            (D7, {"$ref": "#/definitions/a/items/1", "definitions": {"a": {"items": [{}, {}]}}}),
            (D7, {"items": {"$ref": "#/components/a"}, "components": {"a": {"type": "null"}}}),
            (D4, {"$ref": "#here", "definitions": {"a": {"id": "#here"}}}),
            (D7, {"$ref": "#here", "definitions": {"a": {"$id": "#here"}}}),
            (D20, {"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}}),
            (D20, {"$ref": "#here", "$defs": {"a": {"$dynamicAnchor": "here"}}}),
            (D7, {"$id": "http://x.y/r.json", "items": {"$ref": "http://x.y/r.json"}}),
            (D7, {"$id": "http://x.y/r.json", "items": {"$ref": "r.json#/definitions/a"},
                  "definitions": {"a": {}}}),
            (D7, {"$id": "http://x.y/r.json", "$ref": "b/c.json", "definitions": {
                "a": {"$id": "b/c.json", "items": {"$ref": "#/definitions/d"},
                      "definitions": {"d": {}}}}}),
            (D20, {"$id": "urn:uuid:deadbeef", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}),
            (D20, {"$id": "urn:uuid:deadbeef", "items": {"$ref": "urn:uuid:deadbeef"}}),
            (D7, {"$ref": "http://json-schema.org/draft-07/schema#"}),
            (D7, {"$ref": "https://json-schema.org/draft-07/schema"}),
            (D20, {"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            (D19, {"$ref": "https://json-schema.org/draft/2019-09/schema"}),
            (D7, {"definitions": {"unused": {"$ref": "#/definitions/missing"}}}),
            (D7, {"properties": {"$ref": {"type": "string"}}, "enum": [{"$ref": "#/nowhere"}]}),
        ],
    )  # fmt: skip
    def test_a_reference_inside_the_document_is_resolved(
        self, draft: str, document: dict[str, object]
    ) -> None:
        assert parse(json.dumps({"$schema": draft} | document), {}).canonical

    @pytest.mark.parametrize(
        ("document", "name", "text"),
        [
            ({"$ref": "other.json"}, "other.json", "{}"),
            ({"$ref": "./other.json"}, "other.json", "{}"),
            ({"$ref": "other.json"}, "./other.json", "{}"),
            ({"$ref": "other.json#/definitions/a"}, "other.json", '{"definitions": {"a": {}}}'),
            ({"$ref": "other.json#/$defs/a"}, "other.json", '{"definitions": {"a": {}}}'),
            ({"$ref": "http://a.b/other.json#"}, "http://a.b/other.json", "true"),
            (
                {"$id": "http://a.b/r.json", "$ref": "other.json"},
                "x",
                '{"$id": "http://a.b/other.json"}',
            ),
            ({"$id": "http://a.b/r.json", "items": {"$ref": "other.json"}}, "other.json", "{}"),
            ({"$ref": "subject-value"}, "subject-value", "{}"),
            ({"$ref": "a.json#/definitions/a"}, "a.json#/definitions/a", "{}"),
            (
                {"$ref": "deep/a.json"},
                "deep/a.json",
                '{"items": {"$ref": "#/definitions/b"}, "definitions": {"b": {}}}',
            ),
        ],
    )
    def test_a_reference_of_the_registry_is_found(
        self, document: dict[str, object], name: str, text: str
    ) -> None:
        # A sibling of a reference is ignored up to draft 7, also `$id`.
        assert parse(json.dumps({"$schema": D20} | document), {name: text}).canonical

    def test_a_reference_without_schema_is_of_the_draft_of_what_refers_to_it(self) -> None:
        """Draft 7, which is the default, has no keyword `$anchor`."""
        reference = {"a.json": '{"$defs": {"a": {"$anchor": "here"}}}'}

        assert parse(f'{{"$schema": "{D20}", "$ref": "a.json#here"}}', reference).canonical
        with pytest.raises(InvalidSchemaError, match="cannot resolve"):
            parse('{"$ref": "a.json#here"}', reference)

    def test_a_reference_may_refer_to_another_reference(self) -> None:
        references = {"c.json": '{"type": "string"}', "b.json": '{"items": {"$ref": "c.json"}}'}

        assert parse('{"$ref": "b.json"}', references).canonical
        with pytest.raises(InvalidSchemaError, match=r'cannot resolve the \$ref "c\.json"'):
            parse('{"$ref": "b.json"}', {"b.json": references["b.json"]})

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", 'the reference "a.json" cannot be read: the schema is not valid JSON'),
            ("1", 'the reference "a.json" is not a JSON Schema'),
            ('{"items": {"type": 5}}', "the schema at a.json#/items is not valid in draft 7"),
        ],
    )
    def test_an_invalid_reference_is_named(self, text: str, message: str) -> None:
        with pytest.raises(InvalidSchemaError) as caught:
            parse('{"$ref": "a.json"}', {"a.json": text})

        assert caught.value.message == message

    @pytest.mark.parametrize(
        "document",
        [
            {"$ref": "#/definitions/missing"},
            {"properties": {"a": {"$ref": "#missing"}}},
            {"$ref": "http://example.com/schema.json"},
            {"$ref": "file:///etc/passwd"},
            {"$ref": "http://["},
            {"$ref": "other.json"},
            {"$ref": "#/definitions/a/items/7", "definitions": {"a": {"items": [{}]}}},
            {"$ref": "#/definitions/a/items/-1", "definitions": {"a": {"items": [{}]}}},
            {"$ref": "#/definitions/a/items/" + "9" * 5000, "definitions": {"a": {"items": [{}]}}},
            {"$ref": "#/title", "title": "text"},
            {"if": {"$ref": "#/a"}},
            {"contains": {"$ref": "#/a"}},
            {"propertyNames": {"$ref": "#/a"}},
            {"dependencies": {"a": {"$ref": "#/a"}}},
            {"patternProperties": {"a": {"$ref": "#/a"}}},
            {"$schema": D20, "$defs": {"unused": {"$ref": "#/$defs/missing"}}},
            {"$schema": D20, "$dynamicRef": "#missing"},
        ],
    )  # fmt: skip
    def test_a_reference_to_nowhere_is_refused(self, document: dict[str, object]) -> None:
        with pytest.raises(InvalidSchemaError, match=r"cannot resolve the \$ref") as caught:
            parse(json.dumps(document), {})

        assert len(caught.value.render()) < 600

    @pytest.mark.parametrize(
        "document",
        [
            {"$ref": "#"},
            {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}},
            {"$ref": "#/definitions/a", "definitions": {
                "a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}},
            {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
            {"allOf": [{"not": {"if": {"$ref": "#"}}}]},
            {"dependencies": {"a": {"$ref": "#"}}},
            {"$schema": D20, "dependentSchemas": {"a": {"$ref": "#"}}},
            {"$schema": D20, "$dynamicAnchor": "a", "oneOf": [{"$dynamicRef": "#a"}]},
            {"$schema": D19, "anyOf": [{"$recursiveRef": "#"}]},
            {"properties": {"a": {"$ref": "#/properties/a"}}},
        ],
    )  # fmt: skip
    def test_a_schema_that_applies_itself_to_the_same_value_is_refused(
        self, document: dict[str, object]
    ) -> None:
        with pytest.raises(InvalidSchemaError, match="refers to itself"):
            parse(json.dumps(document), {})

    @pytest.mark.parametrize(
        "document",
        [
            {"properties": {"next": {"$ref": "#"}}},
            {"additionalProperties": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
            {"items": {"$ref": "#"}, "contains": {"$ref": "#"}, "propertyNames": {"$ref": "#"}},
            {"allOf": [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/a"}],
             "definitions": {"a": {"items": {"$ref": "#"}}}},
        ],
    )  # fmt: skip
    def test_a_recursive_schema_is_accepted(self, document: dict[str, object]) -> None:
        schema = parse(json.dumps(document), {})

        assert schema.incompatibilities(schema) == ()


def test_shapes_are_compared_by_identity() -> None:
    """Shapes refer to schemas that refer to them: comparing what they hold would never end."""
    kinds = [one for one in vars(shapes).values() if isinstance(one, type)]
    kinds = [one for one in kinds if issubclass(one, shapes.Shape)]
    assert len(kinds) > 8

    for kind in kinds:
        needed: dict[str, Any] = {  # Any: the comparison does not look at them.
            each.name: ()
            for each in dataclasses.fields(kind)
            if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        }
        one, other = kind(**needed), kind(**needed)
        assert one != other, kind
        assert len({one, other}) == 2, kind

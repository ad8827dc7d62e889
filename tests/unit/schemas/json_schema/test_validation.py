"""Values are validated against JSON Schemas, and judged by the library `jsonschema`."""

import json
import random
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import jsonschema
import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import parse
from unit.schemas.json_schema.generated import SchemaMaker, value_near

if TYPE_CHECKING:
    from duolog.schemas.json_schema.json_text import JsonValue

D4 = "http://json-schema.org/draft-04/schema#"
D6 = "http://json-schema.org/draft-06/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"
D20 = "https://json-schema.org/draft/2020-12/schema"

VALIDATORS: Final = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}


def problem(schema: object, value: object, *, formats: bool = False) -> str:
    found = parse(json.dumps(schema), {}).problem(value, formats=formats)
    return "" if found is None else str(found)


@pytest.mark.parametrize("draft", VALIDATORS)
def test_generated_values_are_judged_as_the_library_judges_them(draft: int) -> None:
    rng = random.Random(draft)  # noqa: S311 - a seed that can be run again
    valid = 0
    for _ in range(150):
        schema = SchemaMaker(rng, draft).document()
        judge = VALIDATORS[draft](schema)
        parsed = parse(json.dumps(schema), {})
        for value in [value_near(rng) for _ in range(12)]:
            expected = judge.is_valid(value)
            valid += expected

            found = parsed.problem(value)

            assert (found is None) is expected, (schema, value, str(found))
    assert 100 < valid < 1700, "too few values of one kind"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "a", '#: string "a" is not integer'),
        ({"type": ["integer", "null"]}, True, "#: boolean true is not integer or null"),
        ({"type": "object"}, None, "#: null null is not object"),
        ({"enum": [1, 2]}, 3, "#: 3 is not one of the 2 values in enum"),
        ({"enum": [1]}, 3, "#: 3 is not the value in enum"),
        ({"minItems": 2}, [1], "#: it has 1 item, fewer than 2"),
        ({"$schema": D20, "contains": {"const": 1}, "minContains": 2}, [1], "#: 1 item fits the schema in contains, fewer than 2"),
        ({"const": {"a": 1}}, [], "#: an array of 0 is not an object of 1"),
        ({"maximum": 5}, 5.5, "#: 5.5 is more than the maximum 5"),
        ({"exclusiveMinimum": 5}, 5, "#: 5 is not more than 5"),
        ({"multipleOf": 0.1}, 0.25, "#: 0.25 is not a multiple of 0.1"),
        ({"maxLength": 1}, "ab", '#: "ab" is longer than 1 character'),
        ({"pattern": "^a"}, "ba", '#: "ba" does not match "^a"'),
        ({"properties": {"a": {"items": {"type": "null"}}}}, {"a": [None, 1]}, "#/a/1: number 1 is not null"),
        ({"required": ["a"]}, {}, '#: the property "a" is missing'),
        ({"additionalProperties": False}, {"a": 1}, "#/a: no property of this name is allowed"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, '#/ab: the name is not allowed: "ab" is longer than 1 character'),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, '#: the property "b" is missing, which "a" requires'),
        ({"items": [True], "additionalItems": False}, [1, 2], "#/1: no item is allowed here"),
        ({"uniqueItems": True}, [1, "1", 1.0], "#: the items 0 and 2 are equal"),
        ({"contains": {"const": 1}}, [2], "#: 0 items fit the schema in contains, fewer than 1"),
        ({"oneOf": [{"minimum": 1}, {"maximum": 5}]}, 3, "#: it fits two branches of oneOf: 0 and 1"),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, 3,
         "#: it fits none of the 2 branches of anyOf; #: number 3 is not null"),
        ({"not": {}}, 1, "#: it fits the schema in not"),
        ({"properties": {"a": False}}, {"a": 1}, "#/a: no value is allowed here"),
    ],
)  # fmt: skip
def test_the_first_problem_is_reported_with_its_place(
    schema: object, value: object, message: str
) -> None:
    assert problem(schema, value) == message


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"multipleOf": 0.01}, Decimal("19.99"), Decimal("19.999")),
        ({"maximum": 0.1}, 0.1, 0.11),
        ({"maximum": 9007199254740993}, 9007199254740993, 9007199254740994),
        ({"const": 0.1}, 0.1, 0.2),
        ({"enum": [1.0]}, 1, True),
        ({"type": "integer"}, 1.0, 1.5),
        ({"type": "integer"}, Decimal("1.0"), Decimal("1.5")),
        ({"type": "number"}, Decimal(1), float("nan")),
        ({"$schema": D4, "type": "integer"}, 1, 1.0),
        ({"multipleOf": 3}, Decimal("3E+9"), Decimal("1E+999999")),
    ],
)
def test_numbers_are_exact(schema: object, valid: object, invalid: object) -> None:
    assert problem(schema, valid) == ""
    assert problem(schema, invalid) != ""


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"anyOf": [{"properties": {"a": True}}, {"properties": {"b": {"type": "null"}}}],
          "unevaluatedProperties": False}, {"a": 1, "b": None}, {"b": 1}),
        ({"properties": {"a": {"unevaluatedProperties": False}}}, {"a": {}}, {"a": {"b": 1}}),
        ({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "else": {"properties": {"b": True}},
          "unevaluatedProperties": False}, {"b": 1}, {"a": 1, "b": 1}),
        # What the condition accepts counts if it fits, with and without `then`.
        ({"if": {"properties": {"a": True}, "required": ["a"]}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"if": {"properties": {"a": True}, "required": ["a"]}, "then": {"properties": {"b": True}},
          "unevaluatedProperties": False}, {"a": 1, "b": 1}, {"a": 1, "c": 1}),
        ({"contains": {"type": "null"}, "minContains": 2}, [None, None], [None, 1]),
        ({"contains": {"type": "null"}, "maxContains": 1}, [None, 1], [None, None]),
        ({"contains": {"type": "null"}, "minContains": 0, "maxContains": 1}, [], [None, None]),
        ({"prefixItems": [True], "contains": {"type": "null"}, "unevaluatedItems": False}, [1, None], [1, None, 2]),
        ({"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": {"properties": {"a": True}}}},
         {"a": 1}, {"b": 1}),
        ({"$ref": "list", "$defs": {
            "strings": {"$id": "list", "$dynamicAnchor": "T", "items": {"$dynamicRef": "#item"},
                        "$defs": {"default": {"$dynamicAnchor": "item"}}},
            "override": {"$dynamicAnchor": "item", "type": "string"}}}, ["a"], [1]),
        # Without a dynamic anchor in its own document, the reference is an ordinary one.
        ({"$ref": "list", "$defs": {
            "numbers": {"$id": "list", "items": {"$dynamicRef": "#item"},
                        "$defs": {"default": {"$anchor": "item", "type": "integer"}}},
            "override": {"$dynamicAnchor": "item", "type": "string"}}}, [1], ["a"]),
        ({"oneOf": [{"properties": {"a": True}, "required": ["a"]}, {"properties": {"b": True}, "required": ["b"]}],
          "unevaluatedProperties": False}, {"a": 1}, {"a": 1, "c": 1}),
        ({"anyOf": [{"$ref": "#/$defs/a", "required": ["z"]}, {"$ref": "#/$defs/a"}],
          "unevaluatedProperties": False, "$defs": {"a": {"properties": {"a": True}}}}, {"a": 1}, {"b": 1}),
        ({"contains": {"type": "null"}, "unevaluatedItems": False}, [None], [None, 1]),
        ({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [1, "a"], [1, 2]),
        ({"unevaluatedProperties": {"type": "null"}, "allOf": [{"unevaluatedProperties": {"type": ["null", "string"]}}]},
         {"a": "b"}, {"a": 1}),
    ],
)  # fmt: skip
def test_keywords_of_2020_12_depend_on_what_others_accept(
    schema: dict[str, object], valid: object, invalid: object
) -> None:
    assert problem({"$schema": D20} | schema, valid) == ""
    assert problem({"$schema": D20} | schema, invalid) != ""


def test_an_exclusive_bound_of_draft_4_is_a_flag() -> None:
    schema = {"$schema": D4, "minimum": 1, "exclusiveMinimum": True, "maximum": 3}

    assert problem(schema, 1) == "#: 1 is not more than 1"
    assert problem(schema, 3) == ""
    assert problem(schema | {"exclusiveMaximum": True}, 3) == "#: 3 is not less than 3"


def test_contains_of_2019_09_accepts_no_item_for_unevaluated_items() -> None:
    schema = {"$schema": D19, "contains": {"type": "null"}, "unevaluatedItems": False}

    assert problem(schema, [None]) == "#/0: no item is allowed here"


@pytest.mark.parametrize(
    ("draft", "keywords", "value"),
    [
        (D4, {"if": {"type": "string"}, "then": {"maxLength": 0}}, "a"),
        (D6, {"if": {"type": "string"}, "then": {"maxLength": 0}}, "a"),
        (D4, {"contains": {"type": "null"}}, [1]),
        (D4, {"propertyNames": {"maxLength": 0}}, {"a": 1}),
        (D6, {"contains": {"type": "null"}, "minContains": 2}, [None]),
        (D7, {"contains": {"type": "null"}, "minContains": 2}, [None]),
        (D7, {"contains": {"type": "null"}, "maxContains": 1}, [None, None]),
        (D7, {"contains": {"type": "null"}, "maxContains": "1"}, [None, None]),
        (D7, {"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}),
        (D7, {"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        (D7, {"unevaluatedProperties": {"type": "null"}}, {"a": 1}),
        (D7, {"unevaluatedItems": {"type": "null"}}, [1]),
        (D7, {"prefixItems": [{"type": "null"}]}, [1]),
        (D19, {"prefixItems": [{"type": "null"}]}, [1]),
        (D19, {"dependencies": {"a": {"required": ["b"]}}}, {"a": 1}),
        (D20, {"dependencies": {"a": {"required": ["b"]}}}, {"a": 1}),
        (D20, {"items": True, "additionalItems": {"type": "null"}}, [1]),
    ],
)
def test_a_keyword_of_another_draft_restricts_nothing(
    draft: str, keywords: dict[str, object], value: object
) -> None:
    assert problem({"$schema": draft} | keywords, value) == ""


def test_a_recursive_reference_of_2019_09_leads_to_the_outermost_schema() -> None:
    tree = {
        "$schema": D19, "$recursiveAnchor": True, "$ref": "node", "required": ["v"],
        "$defs": {"n": {"$id": "node", "$recursiveAnchor": True, "properties": {"n": {"$recursiveRef": "#"}}}},
    }  # fmt: skip

    assert problem(tree, {"v": 1, "n": {"v": 1}}) == ""
    assert problem(tree, {"v": 1, "n": {}}) == '#/n: the property "v" is missing'


def test_format_restricts_a_value_only_if_it_is_asked_for() -> None:
    assert problem({"format": "ipv4"}, "1.2.3.999") == ""
    assert problem({"format": "ipv4"}, "1.2.3.4", formats=True) == ""
    assert "not a valid ipv4" in problem({"format": "ipv4"}, "1.2.3.999", formats=True)
    assert problem({"format": "regex"}, "(", formats=True) == ""


def test_a_pattern_that_re2_cannot_run_restricts_nothing() -> None:
    assert problem({"pattern": "^(?!a)"}, "a") == ""
    assert problem({"pattern": "^(?!a)", "maxLength": 0}, "a") != ""


def test_a_reference_of_the_registry_is_validated_by_its_own_text() -> None:
    schema = parse('{"properties": {"a": {"$ref": "a.json"}}}', {"a.json": '{"type": "string"}'})

    assert schema.problem({"a": "x"}) is None
    assert str(schema.problem({"a": 1})) == "#/a: number 1 is not string"


class TestHostileInput:
    """No value and no schema makes the validation crash, or take long."""

    def test_an_exploding_expression_takes_linear_time(self) -> None:
        started = time.process_time()

        assert problem({"pattern": "^(a+)+$"}, "a" * 100_000 + "b") != ""
        assert time.process_time() - started < 5

    def test_a_deeply_nested_value_is_a_problem(self) -> None:
        value: JsonValue = None
        for _ in range(20_000):
            value = [value]

        assert problem({"items": {"$ref": "#"}}, value) == "#: the value is nested too deep"

    def test_references_that_share_definitions_take_linear_time(self) -> None:
        definitions: dict[str, object] = {
            f"d{place}": {"anyOf": [{"$ref": f"#/definitions/d{place + 1}"}] * 2}
            for place in range(60)
        }
        schema = {
            "$ref": "#/definitions/d0",
            "definitions": {**definitions, "d60": {"type": "null"}},
        }
        started = time.process_time()

        assert problem(schema, None) == ""
        assert problem(schema, 1) != ""
        assert time.process_time() - started < 5

    def test_many_mixed_items_are_compared_in_linear_time(self) -> None:
        value = [item for number in range(30_000) for item in (number, str(number), [number])]
        started = time.process_time()

        assert problem({"uniqueItems": True}, value) == ""
        assert time.process_time() - started < 5

    def test_a_cycle_of_an_unchecked_schema_is_a_problem_and_no_crash(self) -> None:
        schema = parse('{"$ref": "#"}', {}, strict=False)

        assert str(schema.problem(1)) == "#: the value is nested too deep"

    def test_a_missing_reference_of_an_unchecked_schema_is_an_error_when_it_is_followed(
        self,
    ) -> None:
        schema = parse('{"properties": {"a": {"$ref": "http://x.y/z"}}}', {}, strict=False)

        assert schema.problem({"b": 1}) is None
        with pytest.raises(InvalidSchemaError, match="cannot resolve"):
            schema.problem({"a": 1})

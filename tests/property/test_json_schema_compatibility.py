"""A compatible schema accepts every value that is valid under the old one.

The judge is the library `jsonschema`, which knows nothing of the comparison. Confluent's registry,
whose rules are followed, is lenient in some places on purpose. Each of them is an example below, and
the generated schemas leave them out.
"""

import json
import random
from typing import Final

import jsonschema
import pytest

from duolog.schemas.json_schema import parse
from duolog.schemas.schema import Policy
from unit.schemas.json_schema.generated import SchemaMaker, evolved, value_near

D20: Final = "https://json-schema.org/draft/2020-12/schema"
VALIDATORS: Final = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}
PAIRS: Final = 400
VALUES: Final = 25


@pytest.mark.parametrize("draft", VALIDATORS)
def test_a_compatible_schema_accepts_every_value_that_the_old_one_accepts(draft: int) -> None:
    rng = random.Random(draft)  # noqa: S311 - a seed that can be run again
    compatible = judged = 0
    for _ in range(PAIRS):
        maker = SchemaMaker(rng, draft, sound=True)
        one = maker.document()
        other = evolved(maker, one, rng.choice((1, 1, 2)))
        for old, new in ((one, other), (other, one)):
            if _incompatible(old, new):
                continue
            compatible += 1
            writer, reader = VALIDATORS[draft](old), VALIDATORS[draft](new)
            for value in [value_near(rng) for _ in range(VALUES)]:
                if writer.is_valid(value):
                    judged += 1
                    assert reader.is_valid(value), (json.dumps(old), json.dumps(new), value)
    assert compatible > PAIRS / 3
    assert judged > PAIRS, "too few of the values are valid"


@pytest.mark.parametrize(
    ("leniency", "old", "new", "value"),
    [
        ("a default may stand for a property that becomes required",
         {"properties": {"a": {"default": 1}}}, {"properties": {"a": {"default": 1}}, "required": ["a"]}, {}),
        ("a property that no schema declares may become required",
         {"type": "object"}, {"type": "object", "required": ["a"]}, {}),
        ("a type may be added next to keywords for it",
         {"maxLength": 3}, {"type": "string", "maxLength": 3}, 1),
        ("a branch of oneOf may be added that fits the same values",
         {"oneOf": [{"type": "integer"}]}, {"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1),
        ("a schema in patternProperties may change",
         {"type": "object", "patternProperties": {"^a": {"type": "null"}}},
         {"type": "object", "patternProperties": {"^a": {"type": "string"}}}, {"a": None}),
        ("a schema in contains may change",
         {"type": "array", "contains": {"type": "null"}}, {"type": "array", "contains": {"type": "string"}}, [None]),
        ("a schema in propertyNames may change",
         {"type": "object"}, {"type": "object", "propertyNames": {"maxLength": 1}}, {"ab": 1}),
        ("a condition may change",
         {"if": {"type": "string"}, "then": {"maxLength": 3}}, {"if": {"type": "string"}, "then": {"maxLength": 1}}, "ab"),
        ("additionalItems counts without items",
         {"type": "array", "additionalItems": False}, {"type": "array", "items": [{"type": "string"}], "additionalItems": False}, [1]),
        ("a required schema that a property depends on may name others",
         {"type": "object", "dependencies": {"a": {"type": "object"}}},
         {"type": "object", "dependencies": {"a": {"type": "object", "required": ["b"]}}}, {"a": 1}),
        ("unevaluatedProperties does not look into other schemas",
         {"$schema": D20, "type": "object", "allOf": [{"properties": {"b": True}}], "unevaluatedProperties": False},
         {"$schema": D20, "type": "object", "allOf": [{"properties": {"b": True}}],
          "properties": {"b": {"type": "null"}}, "unevaluatedProperties": False}, {"b": 1}),
    ],
)  # fmt: skip
def test_the_registry_is_lenient_in_a_known_place(
    leniency: str, old: dict[str, object], new: dict[str, object], value: object
) -> None:
    """Each case is compatible in Confluent's registry although a value becomes invalid."""
    kind = jsonschema.Draft202012Validator if "$schema" in old else jsonschema.Draft7Validator

    assert kind(old).is_valid(value), leniency
    assert not kind(new).is_valid(value), leniency
    assert not _incompatible(old, new), leniency


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "object"}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        ({"type": "object"}, {"type": "object", "additionalProperties": False}),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False},
         {"type": "object", "additionalProperties": False}),
    ],
)  # fmt: skip
def test_the_policy_lenient_accepts_what_strict_refuses(
    old: dict[str, object], new: dict[str, object]
) -> None:
    assert _incompatible(old, new)
    assert not _incompatible(old, new, Policy.LENIENT)


def _incompatible(old: object, new: object, policy: Policy = Policy.STRICT) -> bool:
    writer, reader = parse(json.dumps(old), {}), parse(json.dumps(new), {})
    return bool(reader.incompatibilities(writer, policy))

"""No text makes the parser crash, recurse or take long."""

import json
import time
from collections.abc import Iterator

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import parse

D4 = "http://json-schema.org/draft-04/schema#"
D20 = "https://json-schema.org/draft/2020-12/schema"


@pytest.fixture(autouse=True)
def in_short_time() -> Iterator[None]:
    """Each of these takes about a second; what grows faster than the text would take minutes."""
    started = time.process_time()
    yield
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"p{place}": {"maxLength": place} for place in range(30_000)}},
        {"properties": {f"p{place}": {"title": f"t{place}", "pattern": f"^{place}"} for place in range(15_000)}},
        {"$schema": D20, "$defs": {f"p{place}": {"$id": f"http://a/{place}", "$anchor": f"a{place}"}
                                   for place in range(14_000)}},
        {"definitions": {"a": {}}, "properties": {f"p{place}": {"$ref": "#/definitions/a"} for place in range(18_000)}},
        {"$schema": D4, "enum": [item for place in range(40_000) for item in (place, str(place))]},
        {"required": [f"a{place}" for place in range(60_000)]},
        {"dependencies": {f"a{place}": ["b", "c"] for place in range(30_000)}},
        {"allOf": [{"$ref": "#/definitions/a"}] * 25_000, "definitions": {"a": {}}},
        {"default": [[place] for place in range(90_000)]},
        {"properties": {"x" * 500_000: {"properties": {f"a{place}": {} for place in range(10_000)}}}},
        {"pattern": "(a+)+$" * 100_000},
    ],
)  # fmt: skip
def test_a_large_schema_is_parsed_in_linear_time(schema: dict[str, object]) -> None:
    assert parse(json.dumps(schema), {}).canonical


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", 1] * 50_000},
        {"required": [1] * 100_000},
        {"enum": 5, "title": "x" * 500_000},
        {"properties": {"x" * 500_000: {"type": 5}}},
        {"$ref": "#" + "/a" * 200_000},
        {"$ref": "x" * 500_000},
        {"pattern": "(" * 500_000},
        {"properties": {f"p{place}": {"$ref": f"#/properties/p{(place + 1) % 15_000}"} for place in range(15_000)}},
    ],
)  # fmt: skip
def test_a_large_invalid_schema_is_refused_with_a_short_message(schema: dict[str, object]) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        parse(json.dumps(schema), {})

    assert len(caught.value.render()) < 1500


def test_a_long_chain_of_references_is_parsed() -> None:
    definitions = {f"d{place}": {"$ref": f"#/definitions/d{place + 1}"} for place in range(14_000)}
    schema = parse(
        json.dumps({"$ref": "#/definitions/d0", "definitions": {**definitions, "d14000": {}}}), {}
    )

    with pytest.raises(InvalidSchemaError, match="leads to too many others"):
        schema.incompatibilities(schema)


def test_a_schema_at_the_limit_of_nesting_is_parsed_and_compared() -> None:
    def nested(leaf: str) -> str:
        return '{"items":' * 255 + f'{{"type":"{leaf}"}}' + "}" * 255

    old, new = parse(nested("string"), {}), parse(nested("null"), {})

    assert old.normalized() == nested("string")
    assert len(new.incompatibilities(old)) == 1


def test_odd_names_are_kept() -> None:
    text = '{"title":"\\u0000","properties":{"\\u0000":{},"../x":{},"%s%n":{},"{reader}":{}}}'

    schema = parse(text, {})

    assert schema.canonical == text
    assert schema.name == "\x00"

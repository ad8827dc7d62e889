"""The difference of two schemas has the kinds and paths that Confluent's registry reports.

`compatibility_cases.jsonl` holds one pair in each line. The expected differences were compared with
those of the registry's own rules, except for lines with `"registry": false`: there it overlooks a
change, fails, or refuses the schema.
"""

import json
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

import duolog.schemas.json_schema.compatibility as rules
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import parse
from duolog.schemas.json_schema.compatibility.comparison import differences
from duolog.schemas.json_schema.compatibility.kinds import KINDS
from duolog.schemas.json_schema.compatibility.order import hash_order
from duolog.schemas.schema import Language, Policy

CASES: Final[list[dict[str, Any]]] = [  # Any: rows of JSON
    json.loads(line)
    for line in (Path(__file__).parent / "compatibility_cases.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_the_differences_are_those_of_the_registry(case: dict[str, Any]) -> None:
    writer = parse(json.dumps(case["writer"]), {})
    reader = parse(json.dumps(case["reader"]), {})

    found = differences(writer.shapes.root(), reader.shapes.root(), Policy.STRICT, everything=True)

    assert [f"{difference.kind} {difference.path}" for difference in found] == case["differences"]
    assert (not reader.incompatibilities(writer)) is case["strict"]
    assert (not reader.incompatibilities(writer, Policy.LENIENT)) is case["lenient"]


def test_every_kind_that_can_occur_is_in_a_case() -> None:
    found = {difference.split()[0] for case in CASES for difference in case["differences"]}
    reported_by_the_registry_itself = {
        "RESERVED_PROPERTY_REMOVED", "RESERVED_PROPERTY_CONFLICTS_WITH_PROPERTY",
    }  # fmt: skip

    assert KINDS.keys() - found == reported_by_the_registry_itself


def test_every_kind_that_the_rules_name_exists() -> None:
    texts = "\n".join(path.read_text() for path in Path(rules.__path__[0]).glob("*.py"))

    named = set(re.findall(r'"([A-Z]+(?:_[A-Z]+){2,})"', texts)) - {
        "EXCLUSIVE_MAXIMUM",
        "EXCLUSIVE_MINIMUM",
    }

    assert len(named) > 20
    assert named - KINDS.keys() == set()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ({"type": "string"}, {"type": "integer"},
         ("{errorType:\"TYPE_CHANGED\", description:\"A type at path '#/' is different between the "
         "new schema and the old schema'}")),
        ({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "string", "maxLength": 1}}},
         ("{errorType:\"MAX_LENGTH_ADDED\", description:\"The keyword at path '#/properties/a/maxLength' in the "
         "new schema is not present in the old schema'}")),
        ({"maximum": 2}, {"maximum": 1},
         ("{errorType:\"MAXIMUM_DECREASED\", description:\"The value at path '#/maximum' in the new schema is "
         "less than its value in the old schema'}")),
        ({"type": "object"}, {"type": "object", "properties": {"a": {"type": "null"}}},
         ("{errorType:\"OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL\", description:\"The new schema has an "
         "open content model and has a property or item at path '#/properties/a' which is missing in the "
         "old schema'}")),
        ({"type": "object", "properties": {"a": {}}}, {"type": "object", "additionalProperties": False},
         ("{errorType:\"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL\", description:\"The new has a closed "
         "content model and is missing a property or item present at path '#/properties/a' in the "
         "old schema'}")),
        ({"enum": ["a", "b"]}, {"enum": ["a"]},
         ("{errorType:\"ENUM_ARRAY_NARROWED\", description:\"An array or combined type at path '#/enum' has "
         "fewer elements in the new schema than the old schema'}")),
        ({"type": "array"}, {"type": "array", "items": {}}, "{errorType:\"SCHEMA_ADDED\", description:\"'}"),
    ],
)  # fmt: skip
def test_a_client_gets_the_sentence_of_the_registry(old: object, new: object, message: str) -> None:
    writer, reader = parse(json.dumps(old), {}), parse(json.dumps(new), {})

    messages = [
        incompatibility.message(Language.JSON, reader="new", writer="old")
        for incompatibility in reader.incompatibilities(writer)
    ]

    assert message in messages


def test_properties_are_reported_in_the_order_of_a_hash_table_of_java() -> None:
    names = ["order", "id", "name", "customer", "price", "quantity", "address", "é", "😀"]

    assert hash_order(names[:5], names[3:]) == [
        "quantity", "address", "price", "name", "😀", "é", "id", "order", "customer",
    ]  # fmt: skip


class TestCost:
    """A comparison of any two schemas ends soon, without a recursion of Python."""

    def compared(self, old: object, new: object) -> int:
        writer, reader = parse(json.dumps(old), {}), parse(json.dumps(new), {})
        started = time.process_time()
        try:
            return len(reader.incompatibilities(writer))
        finally:
            assert time.process_time() - started < 15

    def test_a_long_chain_of_definitions(self) -> None:
        def chain(leaf: str) -> object:
            links = {
                f"d{place}": {"properties": {"x": {"$ref": f"#/definitions/d{place + 1}"}}}
                for place in range(5000)
            }
            return {"$ref": "#/definitions/d0", "definitions": links | {"d5000": {"type": leaf}}}

        assert self.compared(chain("null"), chain("null")) == 0
        assert self.compared(chain("null"), chain("string")) == 1

    def test_definitions_that_are_used_many_times(self) -> None:
        def tree(leaf: str) -> object:
            links = {
                f"d{place}": {
                    "properties": {x: {"$ref": f"#/definitions/d{place + 1}"} for x in "abc"}
                }
                for place in range(60)
            }
            return {"$ref": "#/definitions/d0", "definitions": links | {"d60": {"type": leaf}}}

        assert self.compared(tree("null"), tree("null")) == 0
        assert 1 <= self.compared(tree("null"), tree("string")) <= 1000

    def test_a_combination_of_many_branches(self) -> None:
        branches = [
            {"type": "object", "properties": {f"p{place}": {"type": "string"}}, "required": [f"p{place}"]}
            for place in range(1000)
        ]  # fmt: skip
        changed = [*branches[:-1], {"type": "object", "properties": {"p999": {"type": "null"}}}]

        assert self.compared({"oneOf": branches}, {"oneOf": list(reversed(branches))}) == 0
        assert self.compared({"oneOf": branches}, {"oneOf": changed}) == 1

    def test_types_that_all_refer_to_each_other(self) -> None:
        def trade(leaf: str) -> object:
            union = {"oneOf": [{"$ref": f"#/definitions/t{place}"} for place in range(12)]}
            types = {
                f"t{place}": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "of": union},
                }
                for place in range(11)
            }
            last = {"type": "object", "properties": {"id": {"type": leaf}, "of": union}}
            return {"properties": {"of": union}, "definitions": types | {"t11": last}}

        assert self.compared(trade("string"), trade("string")) == 0
        assert self.compared(trade("string"), trade("number")) > 0

    def test_a_comparison_that_takes_too_many_steps_is_refused_with_the_reason(self) -> None:
        # Each branch has one partner, at the other end of the list.
        old = {"anyOf": [{"const": place, "title": "old"} for place in range(900)]}
        new = {"anyOf": [{"const": place, "title": "new"} for place in reversed(range(900))]}

        with pytest.raises(InvalidSchemaError, match="too complex to compare"):
            self.compared(old, new)

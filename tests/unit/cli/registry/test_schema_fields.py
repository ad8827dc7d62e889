"""The fields of a schema by their paths, also of schemas that were made to have too many."""

import json

from duolog.cli.registry.schema_differences import compare
from duolog.cli.registry.schema_fields import fields_of
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language


def pairs(depth: int, leaf: str) -> str:
    """Return a record of Avro with two fields of a record with two fields, and so on."""
    text = json.dumps({"type": "record", "name": "R0", "fields": [{"name": "x", "type": leaf}]})
    for number in range(1, depth):
        fields = f'{{"name": "a", "type": {text}}}, {{"name": "b", "type": "R{number - 1}"}}'
        text = f'{{"type": "record", "name": "R{number}", "fields": [{fields}]}}'
    return text


def test_a_type_is_listed_in_each_place() -> None:
    found = fields_of(parse(Language.AVRO, pairs(3, "int"), {}))

    assert [path for path in found if path.endswith("x")] == ["a.a.x", "a.b.x", "b.a.x", "b.b.x"]


def test_a_schema_with_a_billion_fields_is_compared() -> None:
    old, new = (parse(Language.AVRO, pairs(30, leaf), {}) for leaf in ("int", "string"))

    found = [one for one in compare(old, new).differences if one.change == "changed"]

    assert len(fields_of(old)) < 50_000
    assert (found[0].old, found[0].new) == ("int", "string")


def test_a_change_far_into_the_branches_of_a_json_schema_is_a_difference() -> None:
    many = [{"const": number} for number in range(100)]
    old, new = (
        parse(Language.JSON, json.dumps({"properties": {"a": {"oneOf": branches}}}), {})
        for branches in (many, [*many, {"const": "new"}])
    )

    (one,) = compare(old, new).differences

    assert (one.path, one.change) == ("a", "changed")

"""The texts of a schema: canonical, normalized, parsing form, fingerprint."""

import json

import pytest

from duolog.schemas.avro import parse

FIXED = {"type": "fixed", "name": "F", "size": 1}


def canonical(schema: object) -> str:
    return parse(json.dumps(schema), {}, strict=False).canonical


def normalized(schema: object, references: dict[str, str] | None = None) -> str:
    return parse(json.dumps(schema), references or {}, strict=False).normalized()


def of_field(**field: object) -> dict[str, object]:
    return {"type": "record", "name": "R", "fields": [{"name": "f", **field}]}


def test_attributes_are_written_in_the_order_of_java() -> None:
    record = {
        "z": 1,
        "aliases": ["Old", "b.Old", "a.Old"],
        "fields": [
            {
                "zz": None,
                "aliases": ["g", "e"],
                "order": "descending",
                "default": "x",
                "doc": "of the field",
                "type": {"b": 2, "type": "string", "a": 1},
                "name": "f",
            },
        ],
        "doc": "of the record",
        "namespace": "a",
        "name": "R",
        "type": "record",
        "y": 2,
    }

    assert canonical(record) == (
        '{"type":"record","name":"R","namespace":"a","doc":"of the record","fields":['
        '{"name":"f","type":{"type":"string","b":2,"a":1},"doc":"of the field","default":"x",'
        '"order":"descending","aliases":["g","e"],"zz":null}],'
        '"z":1,"y":2,"aliases":["Old","b.Old"]}'
    )


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (
            {"type": "enum", "default": "A", "symbols": ["A"], "x": 1, "aliases": ["B"], "doc": "", "name": "a.E"},
            '{"type":"enum","name":"E","namespace":"a","doc":"","symbols":["A"],"default":"A","x":1,"aliases":["B"]}',
        ),
        (
            {"type": "fixed", "size": 0, "logicalType": "decimal", "aliases": ["b.B"], "name": "a.F"},
            '{"type":"fixed","name":"F","namespace":"a","size":0,"logicalType":"decimal","aliases":["b.B"]}',
        ),
        ({"items": {"values": "int", "type": "map", "x": 1}, "type": "array", "default": []}, '{"type":"array","items":{"type":"map","values":"int","x":1},"default":[]}'),
    ],
)  # fmt: skip
def test_types_are_written_in_the_order_of_java(node: object, text: str) -> None:
    assert canonical(node) == text


@pytest.mark.parametrize(
    ("outer", "inner", "text"),
    [
        ("a.R", "a.F", '{"type":"fixed","name":"F","size":1}'),
        ("a.R", "b.F", '{"type":"fixed","name":"F","namespace":"b","size":1}'),
        ("R", "b.F", '{"type":"fixed","name":"F","namespace":"b","size":1}'),
        ("a.R", ".F", '{"type":"fixed","name":"F","namespace":"","size":1}'),
    ],
)
def test_a_namespace_is_written_where_it_is_not_inherited(
    outer: str, inner: str, text: str
) -> None:
    node = {
        "type": "record",
        "name": outer,
        "fields": [{"name": "f", "type": {**FIXED, "name": inner}}],
    }

    assert f'"type":{text}}}' in canonical(node)


@pytest.mark.parametrize(
    ("outer", "inner", "name"),
    [
        ("a.R", "a.F", "F"),
        ("a.R", "b.F", "b.F"),
        ("a.R", "a.map", "a.map"),  # without its namespace it would be read as the type map
        ("R", "F", "F"),
    ],
)
def test_a_name_is_written_as_short_as_it_can_be_read(outer: str, inner: str, name: str) -> None:
    node = [
        {**FIXED, "name": inner},
        {"type": "record", "name": outer, "fields": [{"name": "f", "type": inner}]},
    ]

    assert f'"type":"{name}"}}' in canonical(node)


def test_a_definition_is_written_where_its_name_occurs_first() -> None:
    node = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "f", "type": "F"}, {"name": "g", "type": FIXED}],
    }

    assert canonical(node) == (
        '{"type":"record","name":"R","fields":[{"name":"f","type":{"type":"fixed","name":"F",'
        '"size":1}},{"name":"g","type":"F"}]}'
    )


def test_normalized_attributes_are_sorted_and_canonical_ones_are_not() -> None:
    node = {
        "type": "record",
        "name": "a.R",
        "doc": "",
        "aliases": ["z.B", "A"],
        "fields": [{"name": "f", "type": "int", "y": {"b": 1, "a": 2}, "x": 1, "aliases": ["z", "y"]}],
        "q": 1,
        "p": 2,
    }  # fmt: skip

    assert normalized(node) == (
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"f","type":"int",'
        '"aliases":["y","z"],"x":1,"y":{"a":2,"b":1}}],"p":2,"q":1,"aliases":["A","z.B"]}'
    )


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        (
            {"a": 1, "scale": 2, "precision": 9, "logicalType": "decimal", "type": "bytes"},
            '{"type":"bytes","logicalType":"decimal","precision":9,"scale":2,"a":1}',
        ),
        (
            {"a": 1, "scale": 0, "precision": 9, "logicalType": "decimal", "type": "bytes"},
            '{"type":"bytes","logicalType":"decimal","precision":9,"a":1,"scale":0}',
        ),
        (
            {"a": 1, "logicalType": "date", "type": "int"},
            '{"type":"int","logicalType":"date","a":1}',
        ),
        (
            {"a": 1, "logicalType": "date", "type": "long"},
            '{"type":"long","a":1,"logicalType":"date"}',
        ),
    ],
)
def test_a_valid_logical_type_is_first_in_a_normalized_type(attributes: object, text: str) -> None:
    assert normalized(attributes) == text


@pytest.mark.parametrize(
    ("of", "default", "text"),
    [
        ("double", 1, '"default":1.0'),
        ("float", 0.1, '"default":0.1'),
        ("float", 16777217, '"default":1.6777216E7'),
        ("double", "1e3", '"default":1000.0'),
        ("long", 1, '"default":1'),
        (["null", "int"], None, '"default":null'),
        ({"type": "map", "values": "double"}, {"b": 1, "a": 2}, '"default":{"a":2.0,"b":1.0}'),
        ({"type": "array", "items": "int"}, [1], '"default":[1]'),
        ("bytes", "\u00ff\u0100", '"default":"\u00ff?"'),
        ({"type": "record", "name": "In", "fields": [{"name": "x", "type": "double"}]}, {"x": 1}, '"default":{"x":1.0}'),
    ],
)  # fmt: skip
def test_a_normalized_default_has_the_form_of_its_type(
    of: object, default: object, text: str
) -> None:
    assert normalized(of_field(type=of, default=default)).endswith(f"{text}}}]}}")


@pytest.mark.parametrize(("of", "default"), [(["null", "int"], 5), ("int", "text"), ("int", 2**64)])
def test_a_normalized_default_of_another_type_than_the_first_is_lost(
    of: object, default: object
) -> None:
    """The registry loses it, too."""
    assert '"default"' not in normalized(of_field(type=of, default=default))


def test_schemas_with_the_same_meaning_have_the_same_normalized_text() -> None:
    one = of_field(type=["null", "string"], default=None, order="ascending", b=1, a=2)
    other = {"name": "R", "fields": [{"a": 2, "b": 1, "default": None, "type": ["null", {"type": "string"}], "name": "f"}], "type": "record"}  # fmt: skip

    assert canonical(one) != canonical(other)
    assert normalized(one) == normalized(other)


def test_a_normalized_text_keeps_the_empty_namespace_of_a_type() -> None:
    """The registry omits it; the type then has the name a.F."""
    node = {"type": "record", "name": "a.R", "fields": [{"name": "f", "type": {**FIXED, "name": ".F"}}]}  # fmt: skip

    assert parse(normalized(node), {}).named_types.keys() == {"a.R", "F"}


def test_a_normalized_text_names_the_types_of_other_schemas() -> None:
    references = {"a.F": '{"type": "fixed", "name": "a.F", "size": 1}'}

    assert '"type":"a.F"' in normalized(of_field(type="a.F"), references)


def test_the_parsing_form_has_full_names_and_nothing_without_meaning_for_the_bytes() -> None:
    node = {
        "type": "error",
        "name": "R",
        "namespace": "a",
        "doc": "x",
        "fields": [
            {"name": "f", "type": {"type": "int", "logicalType": "date"}, "default": 1},
            {"name": "g", "type": ["null", {"type": "array", "items": {"type": "map", "values": "R"}}]},
            {"name": "h", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
            {"name": "i", "type": FIXED},
        ],
    }  # fmt: skip

    assert parse(json.dumps(node), {}).parsing_form == (
        '{"name":"a.R","type":"record","fields":[{"name":"f","type":"int"},'
        '{"name":"g","type":["null",{"type":"array","items":{"type":"map","values":"a.R"}}]},'
        '{"name":"h","type":{"name":"a.E","type":"enum","symbols":["A","B"]}},'
        '{"name":"i","type":{"name":"a.F","type":"fixed","size":1}}]}'
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # From the test data of Avro's specification, share/test/data/schema-tests.txt.
        ('"null"', 7195948357588979594),
        ('"int"', 8247732601305521295),
        ('{"type": "fixed", "name": "foo", "size": 15}', 1756455273707447556),
        (
            '{"type": "record", "name": "foo", "fields": [{"name": "f1", "type": "boolean"}]}',
            7843277075252814651,
        ),
    ],
)
def test_the_fingerprint_is_that_of_the_specification(text: str, value: int) -> None:
    assert parse(text, {}).fingerprint == value

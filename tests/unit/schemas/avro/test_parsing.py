"""Avro schemas that are accepted, and those that are refused with a reason."""

import json

import pytest

from duolog.schemas.avro import AvroSchema, parse
from duolog.schemas.avro.types import Enum, Record
from duolog.schemas.schema import InvalidSchemaError


def record(*fields: object, name: str = "a.R", **more: object) -> str:
    """Return the text of a record; a field is an object or only its type."""
    items = [
        each
        if isinstance(each, dict) and each.get("type") not in ("record", "enum", "fixed", "array")
        else {"name": f"f{number}", "type": each}
        for number, each in enumerate(fields)
    ]
    return json.dumps({"type": "record", "name": name, "fields": items, **more})


def field(name: str, of: object, **more: object) -> dict[str, object]:
    return {"name": name, "type": of, **more}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('"string"', '"string"'),
        ('{"type": "string"}', '"string"'),
        ('{"type": "string", "avro.java.string": "String"}', '{"type":"string","avro.java.string":"String"}'),
        ('["null", "int"]', '["null","int"]'),
        ("[]", "[]"),
        ('{"type": "array", "items": "int", "name": "dropped"}', '{"type":"array","items":"int"}'),
        ('// a comment\n{"type": /* and another */ "int"}', '"int"'),
        ('{"type": "int", "doc": "dropped", "type": "long"}', '"long"'),
        (
            '{"type": "enum", "name": "E", "symbols": [], "default": 5, "doc": null}',
            '{"type":"enum","name":"E","symbols":[]}',
        ),
        (
            '{"type": "error", "name": "E", "fields": [], "x": [1.0, 1e2, -0]}',
            '{"type":"error","name":"E","fields":[],"x":[1.0,100.0,0]}',
        ),
    ],
)  # fmt: skip
def test_a_schema_has_the_text_that_java_writes(text: str, canonical: str) -> None:
    assert parse(text, {}).canonical == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "schema is not JSON: Expecting value at line 1, column 1"),
        ("string", "schema is not JSON: Expecting value at line 1, column 1"),
        ('"string" "int"', "schema is not JSON: Extra data at line 1, column 10"),
        ("null", "schema is null, not a type"),
        ("1.5", "schema is 1.5, not a type"),
        ("{}", "object without attributes has no type"),
        ('{"type": ["int"], "a": 1}', "object with the attributes type, a has no type"),
        ('"Order"', 'type "Order" is not defined'),
        ('{"type": "a.Order"}', 'type "a.Order" is not defined'),
        ('["int", {"type": "int"}]', "union contains int twice"),
        ('["int", ["null"]]', "union of 2 values contains a union"),
        ('{"type": "array"}', "array with the attributes type has no items"),
        ('{"type": "map"}', "map with the attributes type has no values"),
        ('{"type": "record", "fields": []}', "record with the attributes type, fields has no name"),
        ('{"type": "record", "name": "R"}', 'record "R" has no fields'),
        ('{"type": "record", "name": "int", "fields": []}', 'record has the name of the primitive type "int"'),
        (record("int", name="a-b"), "invalid name 'a-b' of a record"),
        (record("int", name="a..b"), "invalid name '' of the namespace of record \"a..b\""),
        (record(aliases="B"), "aliases of record \"a.R\" are 'B', not an array"),
        (record(aliases=[5]), 'alias 5 of record "a.R" is not a name'),
        (record(aliases=["x-y"]), "invalid name 'x-y' of an alias of record \"a.R\""),
        (record(field("f", "int"), field("f", "int")), 'record "a.R" has two fields "f"'),
        (record(field("9", "int")), "invalid name '9' of a field of record \"a.R\""),
        (record({"name": "f"}), 'field "f" of record "a.R" has no type'),
        ('{"type": "record", "name": "R", "fields": ["f"]}', "field 'f' of record \"R\" has no name"),
        (record(field("f", "int", order="up")), "order of field \"f\" of record \"a.R\" is 'up'"),
        (record(field("f", "int", aliases="g")), "aliases of field \"f\" of record \"a.R\" are 'g', not an array"),
        (record(field("f", "double", default="x")), "default of field \"f\" of record \"a.R\" is 'x', not a number"),
        (record(field("f", "int", default="x")), 'default of field "f" of record "a.R" is not a value of its type int'),
        ('{"type": "enum", "name": "E"}', 'enum "E" has no symbols'),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', 'enum "E" has the symbol "A" twice'),
        ('{"type": "enum", "name": "E", "symbols": [5]}', 'symbol 5 of enum "E" is not a name'),
        ('{"type": "enum", "name": "E", "symbols": [""]}', "invalid name '' of a symbol of enum \"E\""),
        ('{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}', 'default "B" of enum "E" is not one of its symbols'),
        ('{"type": "fixed", "name": "F"}', 'size of fixed "F" is null'),
        ('{"type": "fixed", "name": "F", "size": -1}', 'size of fixed "F" is -1'),
        ('{"type": "fixed", "name": "F", "size": 16.0}', 'size of fixed "F" is 16.0'),
        ('{"type": "fixed", "name": "F", "size": 2147483647}', 'size of fixed "F" is 2147483647'),
    ],
)  # fmt: skip
def test_an_invalid_schema_is_refused_with_what_is_wrong_in_it(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchemaError) as refused:
        parse(text, {})

    assert refused.value.message == reason


@pytest.mark.parametrize(
    ("of", "default"),
    [
        ("int", 2**31 - 1),
        ("long", -(2**63)),
        ("float", 1),
        ("double", "NaN"),
        ("bytes", "\u00ff"),
        ("null", None),
        (["null", "string"], "a text, though null comes first"),
        ({"type": "array", "items": "int"}, []),
        ({"type": "map", "values": "int"}, {"a": 1}),
        ({"type": "record", "name": "b.In", "fields": [field("x", "int"), field("y", "int", default=2)]}, {"x": 1}),
        ({"type": "enum", "name": "b.E", "symbols": ["A"]}, "of no symbol, which Java does not check"),
    ],
)  # fmt: skip
def test_a_default_is_a_value_of_its_type(of: object, default: object) -> None:
    schema = parse(record(field("f", of, default=default)), {})

    assert isinstance(schema.root, Record)


@pytest.mark.parametrize(
    ("of", "default"),
    [
        ("int", 2**31),
        ("int", 1.0),
        ("int", True),
        ("long", 2**63),
        ("boolean", 0),
        ("null", 0),
        ("string", None),
        ({"type": "array", "items": "int"}, [1, "2"]),
        ({"type": "map", "values": "int"}, [1]),
        ({"type": "record", "name": "b.In", "fields": [field("x", "int")]}, {}),
        (["null", "int"], "text"),
        (["null", "R"], {}),
    ],
)
def test_only_a_strict_parser_refuses_another_default(of: object, default: object) -> None:
    text = record(field("f", of, default=default), field("g", "int"))

    with pytest.raises(InvalidSchemaError, match="is not a value of its type"):
        parse(text, {})
    assert json.loads(parse(text, {}, strict=False).canonical)["fields"][0]["default"] == default


def test_a_default_that_contains_itself_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="is not a value of its type"):
        parse(record(field("f", "R", default={})), {})


def test_a_default_of_a_type_that_follows_is_checked_when_the_type_is_known() -> None:
    """Java refuses this default: it checks it before it reads the definition."""
    later = {"type": "enum", "name": "E", "symbols": ["A"]}

    assert parse(record(field("f", "E", default="A"), field("g", later)), {}).name == "a.R"
    with pytest.raises(InvalidSchemaError, match='default of field "f"'):
        parse(record(field("f", "E", default=1), field("g", later)), {})


@pytest.mark.parametrize("name", ["\u00c4rger", "\u4e2d", "_\u0663"])
def test_only_a_strict_parser_refuses_letters_of_other_alphabets(name: str) -> None:
    with pytest.raises(InvalidSchemaError, match="ASCII letters"):
        parse(record(field(name, "int")), {})
    assert parse(record(field(name, "int")), {}, strict=False).name == "a.R"


@pytest.mark.parametrize("name", ["", "a-b", "9", "a\x00", "\U00010400", "\u0663a"])
def test_no_parser_accepts_names_of_other_characters(name: str) -> None:
    for strict in (True, False):
        with pytest.raises(InvalidSchemaError, match="invalid name"):
            parse(record(field(name, "int")), {}, strict=strict)


def test_only_a_strict_parser_checks_namespaces() -> None:
    text = record(name="R", namespace="a-b.9")

    with pytest.raises(InvalidSchemaError, match="invalid name 'a-b' of the namespace"):
        parse(text, {})
    assert parse(text, {}, strict=False).name == "a-b.9.R"


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        ("In", "a.In"),
        ("a.In", "a.In"),
        ("Other", "Other"),
    ],
)
def test_a_name_is_looked_up_in_its_namespace_and_then_without(inner: str, found: str) -> None:
    definitions = [
        {"type": "fixed", "name": "In", "namespace": "a", "size": 1},
        {"type": "fixed", "name": "Other", "size": 2},
    ]

    union = json.dumps([*definitions, json.loads(record(inner))])

    outer = parse(union, {}).named_types["a.R"]
    assert isinstance(outer, Record)
    assert outer.fields[0].type.full_name == found


def test_a_name_before_its_definition_is_looked_up_in_its_namespace_only() -> None:
    later = {"type": "fixed", "name": "x.In", "size": 1}

    assert parse(record("x.In", later), {}).named_types.keys() == {"a.R", "x.In"}
    with pytest.raises(InvalidSchemaError, match=r'type "a\.In" is not defined'):
        parse(record("In", later), {})


def test_a_name_may_be_defined_twice_if_the_definitions_are_equal() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 1}

    twice = parse(record(fixed, {**fixed, "doc": "docs do not count"}), {})

    assert twice.canonical.count('"size"') == 1
    for other in (
        {**fixed, "size": 2},
        {**fixed, "unit": "m"},
        {**fixed, "type": "enum", "symbols": []},
    ):
        with pytest.raises(InvalidSchemaError, match=r'type "a\.F" is defined twice'):
            parse(record(fixed, other), {})


def test_a_type_that_uses_a_later_name_cannot_be_defined_twice() -> None:
    """Java compares the definitions before it knows what the names in them mean."""
    recursive = record(["null", "R"])
    of_later = json.loads(record("Later", name="a.R"))

    with pytest.raises(InvalidSchemaError, match=r'type "a\.R" is defined twice'):
        parse(f"[{recursive}, {record(json.loads(recursive), name='a.Other')}]", {})
    with pytest.raises(InvalidSchemaError, match=r'type "a\.R" is defined twice'):
        parse(record(of_later, of_later, {"type": "fixed", "name": "Later", "size": 1}, name="a.O"), {})  # fmt: skip


def test_schemas_referred_to_are_parsed_first_and_written_as_names() -> None:
    references = {
        "first": '{"type": "enum", "name": "a.E", "symbols": ["X"]}',
        "second": record("E", name="a.Middle"),
    }

    schema = parse(record("Middle", "E"), references)

    assert schema.canonical == (
        '{"type":"record","name":"R","namespace":"a","fields":'
        '[{"name":"f0","type":"Middle"},{"name":"f1","type":"E"}]}'
    )
    assert schema.formatted("resolved") == (
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"f0","type":{"type":"record",'
        '"name":"Middle","fields":[{"name":"f0","type":{"type":"enum","name":"E","symbols":["X"]}}]}}'
        ',{"name":"f1","type":"E"}]}'
    )
    assert parse(schema.canonical, references).canonical == schema.canonical


def test_a_type_inside_a_schema_referred_to_is_written_out() -> None:
    """Java knows the outermost names of the references only; the text can still be parsed again."""
    inner = {"type": "enum", "name": "E", "symbols": ["X"]}
    references = {"a.Outer": record(inner, name="a.Outer")}

    schema = parse(record("E", "Outer"), references)

    assert '"symbols":["X"]' in schema.canonical
    assert parse(schema.canonical, references).canonical == schema.canonical


def test_a_schema_cannot_redefine_a_type_that_it_refers_to() -> None:
    references = {"a.E": '{"type": "enum", "name": "a.E", "symbols": ["X"]}'}

    with pytest.raises(InvalidSchemaError, match=r'type "a\.E" is defined twice'):
        parse('{"type": "enum", "name": "a.E", "symbols": ["X", "Y"]}', references)


def test_a_schema_that_repeats_one_that_it_refers_to_is_that_one() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 1}

    schema = parse(json.dumps(fixed), {"F": json.dumps({**fixed, "doc": "first"})})

    assert schema.canonical == '"F"'
    assert '"doc":"first"' in schema.resolved


def test_an_invalid_schema_referred_to_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match='type "Missing" is not defined'):
        parse('"string"', {"x": '"Missing"'})


def test_an_integer_of_any_size_is_kept_in_an_unknown_attribute() -> None:
    """Java's library fails on records with such an attribute and keeps it elsewhere."""
    assert f'"x":{10**30}' in parse(record(x=10**30), {}).canonical


@pytest.mark.parametrize(
    ("attributes", "logical"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, ("decimal", 5, 2)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5}, ("decimal", 5, 0)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 6}, None),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5.0}, None),
        ({"type": "bytes", "logicalType": "decimal", "scale": 0}, None),
        ({"type": "string", "logicalType": "decimal", "precision": 5}, None),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9}, ("decimal", 9, 0)),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 10}, None),
        ({"type": "fixed", "name": "F", "size": 3, "logicalType": "decimal", "precision": 7}, None),
        ({"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}, ("uuid", 0, 0)),
        ({"type": "fixed", "name": "F", "size": 15, "logicalType": "uuid"}, None),
        ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, ("duration", 0, 0)),
        ({"type": "string", "logicalType": "uuid"}, ("uuid", 0, 0)),
        ({"type": "int", "logicalType": "date"}, ("date", 0, 0)),
        ({"type": "long", "logicalType": "date"}, None),
        ({"type": "long", "logicalType": "timestamp-nanos"}, ("timestamp-nanos", 0, 0)),
        ({"type": "long", "logicalType": "timestamp-micros", "java-class": "x"}, None),
        ({"type": "long", "logicalType": "of-a-company"}, None),
        ({"type": "long", "logicalType": 5}, None),
    ],
)  # fmt: skip
def test_a_logical_type_counts_only_if_its_rules_are_kept(
    attributes: dict[str, object], logical: tuple[str, int, int] | None
) -> None:
    schema = parse(json.dumps(attributes), {})

    found = schema.root.logical
    assert (None if found is None else (found.name, found.precision, found.scale)) == logical
    assert json.loads(schema.canonical) == attributes


def test_the_parser_returns_one_node_for_each_name() -> None:
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    schema: AvroSchema = parse(record(enum, "E", ["null", "R"]), {})

    root = schema.root
    assert isinstance(root, Record)
    assert isinstance(root.fields[0].type, Enum)
    assert root.fields[1].type is root.fields[0].type

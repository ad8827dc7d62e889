"""Why a reader cannot read what a writer wrote, in the words of the registry."""

import json
from typing import Any

import pytest

from duolog.schemas.avro import parse
from duolog.schemas.schema import Incompatibility, Language

ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
FIXED = {"type": "fixed", "name": "F", "size": 4}


def record(*fields: object, name: str = "R", **more: object) -> dict[str, object]:
    items = [
        each if isinstance(each, dict) and "kept" not in each and _is_field(each) else {"name": f"f{number}", "type": each}
        for number, each in enumerate(fields)
    ]  # fmt: skip
    return {"type": "record", "name": name, "fields": items, **more}


def _is_field(each: dict[str, Any]) -> bool:
    return each.get("type") not in ("record", "enum", "fixed", "array", "map")


def field(name: str, of: object, **more: object) -> dict[str, object]:
    return {"name": name, "type": of, **more}


def reasons(reader: object, writer: object) -> tuple[Incompatibility, ...]:
    schemas = [parse(json.dumps(each), {}, strict=False) for each in (reader, writer)]
    return schemas[0].incompatibilities(schemas[1])


@pytest.mark.parametrize(
    ("reader", "writer", "message"),
    [
        (
            record(field("f1", "string"), field("f2", "string")),
            record(field("f1", "string")),
            (
                "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'f2' at path"
                " '/fields/1' in the new schema has no default value and is missing in the old schema',"
                " additionalInfo:'f2'}"
            ),
        ),
        (
            record(field("f", "int")),
            record(field("f", "string")),
            (
                "{errorType:'TYPE_MISMATCH', description:'The type (path '/fields/0/type') of a field in"
                " the new schema does not match with the old schema', additionalInfo:'reader type: INT"
                " not compatible with writer type: STRING'}"
            ),
        ),
        (
            record(name="a.R"),
            record(name="a.Other"),
            (
                "{errorType:'NAME_MISMATCH', description:'The name of the schema has changed (path"
                " '/name')', additionalInfo:'expected: a.Other'}"
            ),
        ),
        (
            {**ENUM, "symbols": ["B"]},
            {**ENUM, "symbols": ["Z", "B", "A"]},
            (
                "{errorType:'MISSING_ENUM_SYMBOLS', description:'The new schema is missing enum symbols"
                " '[A, Z]' at path '/symbols' in the old schema', additionalInfo:'[A, Z]'}"
            ),
        ),
        (
            {**FIXED, "size": 5},
            FIXED,
            (
                "{errorType:'FIXED_SIZE_MISMATCH', description:'The size of FIXED type field at path"
                " '/size' in the new schema does not match with the old schema',"
                " additionalInfo:'expected: 4, found: 5'}"
            ),
        ),
        (
            record(field("f", ["null", "int"])),
            record(field("f", ["null", "string", "int"])),
            (
                "{errorType:'MISSING_UNION_BRANCH', description:'The new schema is missing a type inside"
                " a union field at path '/fields/0/type/1' in the old schema', additionalInfo:'reader"
                " union lacking writer type: STRING'}"
            ),
        ),
    ],
)
def test_a_reason_has_the_text_of_the_registry(
    reader: object, writer: object, message: str
) -> None:
    found = [
        reason.message(Language.AVRO, reader="new", writer="old")
        for reason in reasons(reader, writer)
    ]

    assert found == [message]


@pytest.mark.parametrize(
    ("reader", "writers"),
    [
        ("int", ("int",)),
        ("long", ("int", "long")),
        ("float", ("int", "long", "float")),
        ("double", ("int", "long", "float", "double")),
        ("string", ("string", "bytes")),
        ("bytes", ("string", "bytes")),
        ("boolean", ("boolean",)),
        ("null", ("null",)),
    ],
)
def test_a_primitive_reads_itself_and_what_can_be_promoted_to_it(
    reader: str, writers: tuple[str, ...]
) -> None:
    kinds = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")

    assert tuple(kind for kind in kinds if not reasons(reader, kind)) == tuple(
        kind for kind in kinds if kind in writers
    )


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(field("f", "int", default=1)), record()),
        (record(field("new", "int", aliases=["old"])), record(field("old", "int"))),
        (record(name="a.R"), record(name="b.R")),  # Java compares the last part of the name only
        (record(name="a.R", aliases=["b.Old"]), record(name="b.Old")),
        ({**ENUM, "symbols": ["A"], "default": "A"}, ENUM),
        (["null", "string"], "string"),
        ("string", ["string", "bytes"]),
        (["int", "string"], []),
        (["null", "long"], ["int"]),
        ({"type": "int", "logicalType": "date"}, "int"),
        (record(["null", "R"]), record(["null", "R"])),
    ],
)
def test_a_reader_reads_a_writer_that_differs_in_these_ways(reader: object, writer: object) -> None:
    assert reasons(reader, writer) == ()


@pytest.mark.parametrize(
    ("reader", "writer", "kinds"),
    [
        (record(name="a.R", aliases=["Old"]), record(name="Old"), ["NAME_MISMATCH"]),
        (record(name="a.R", aliases=[".Old"]), record(name="Old"), ["NAME_MISMATCH"]),
        (record({**ENUM, "default": "A"}), record(name="R"), ["TYPE_MISMATCH"]),
        (["null"], ["int", "string"], ["MISSING_UNION_BRANCH"] * 2),
        ("int", ["int", "string"], ["TYPE_MISMATCH"]),
        ([], "int", ["MISSING_UNION_BRANCH"]),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "null"}, ["TYPE_MISMATCH"]),
        ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}, ["TYPE_MISMATCH"]),
        ({**FIXED, "name": "G", "size": 1}, FIXED, ["NAME_MISMATCH", "FIXED_SIZE_MISMATCH"]),
    ],
)
def test_a_reader_does_not_read_a_writer_that_differs_in_these_ways(
    reader: object, writer: object, kinds: list[str]
) -> None:
    assert [reason.kind for reason in reasons(reader, writer)] == kinds


def test_a_path_leads_through_all_kinds_of_types() -> None:
    def schema(of: object) -> object:
        return record({"type": "array", "items": {"type": "map", "values": record(of, name="In")}})

    (reason,) = reasons(schema("int"), schema(["int", "string"]))

    assert "'/fields/0/type/items/values/fields/0/type/1'" in reason.description


def test_a_recursive_type_is_compared_once() -> None:
    reader = record(["null", "R"], {"type": "array", "items": "R"}, field("x", "int"))
    writer = record(["null", "R"], {"type": "array", "items": "R"}, field("x", "string"))

    kinds = [reason.kind for reason in reasons(reader, writer)]

    assert kinds == ["TYPE_MISMATCH"]


def test_a_type_used_twice_reports_the_place_of_its_first_use_twice() -> None:
    """Java remembers the answer to a pair of types with its place."""
    reader = record({**ENUM, "symbols": []}, "E")
    writer = record(ENUM, "E")

    first, second = reasons(reader, writer)

    assert first == second
    assert "'/fields/0/type/symbols'" in first.description


def test_a_place_inside_a_union_starts_at_the_type_of_the_union() -> None:
    """Java forgets the path there, which shows when the pair of types occurs again."""
    reader = record(["null", {**ENUM, "symbols": []}], "E")
    writer = record(["null", ENUM], "E")
    without_null = record(ENUM, "E")

    _, second = reasons(reader, writer)
    _, from_type = reasons(reader, without_null)

    assert "at path '/symbols'" in second.description
    assert "at path '/symbols'" in from_type.description


@pytest.mark.parametrize(
    ("aliases", "names"), [(["a", "b"], ("a", "b")), (["a"], ("f", "a")), (["f"], ("f",))]
)
def test_a_field_with_two_names_in_the_writer_is_the_only_reason(
    aliases: list[str], names: tuple[str, ...]
) -> None:
    """Java's library throws an exception, also for a field whose alias is its own name."""
    reader = record(field("x", "int"), field("f", "int", aliases=aliases))
    writer = record(*(field(name, "int") for name in names))
    writer_with_x = record(field("x", "int"), *(field(name, "int") for name in names))

    assert [reason.kind for reason in reasons(reader, writer_with_x)] == ["AMBIGUOUS_FIELD_ALIAS"]
    assert [reason.kind for reason in reasons(reader, writer)] == ["AMBIGUOUS_FIELD_ALIAS"]

"""Rules of compatibility: what the registry calls each incompatibility, and where it is."""

from pathlib import Path

import pytest

from duolog.schemas.protobuf import parse
from duolog.schemas.protobuf.elements import SCALAR_TYPES
from duolog.schemas.schema import Language

GOLDEN = Path(__file__).parents[3] / "golden" / "protobuf" / "evolutions.txt"
GROUPS = (
    {"int32", "int64", "uint32", "uint64", "bool"},
    {"sint32", "sint64"},
    {"string", "bytes"},
    {"fixed32", "sfixed32"},
    {"fixed64", "sfixed64"},
    {"float"},
    {"double"},
)


def kinds(
    old: str, new: str, old_references: dict[str, str] | None = None, new_references: dict[str, str] | None = None
) -> list[str]:  # fmt: skip
    """Return the incompatibilities of two schemas as `KIND #/path`."""
    reader = parse(new, new_references or old_references or {}, strict=False)
    writer = parse(old, old_references or {}, strict=False)
    return [
        f"{part.kind} {part.description.split(chr(39))[1]}"
        for part in reader.incompatibilities(writer)
    ]


def message(body: str, syntax: str = "proto3") -> str:
    return (
        f'syntax = "{syntax}"; package p; message A {{ {body} }} message B {{}} enum E {{ Z = 0; }}'
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("string a = 1;", "string b = 1; int32 c = 2;", []),
        ("string a = 1; int32 b = 2;", "string a = 1;", []),
        ("E a = 1;", "int32 a = 1;", []),
        ("int32 a = 1;", "string a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
        ("string a = 1;", "B a = 1;", ["FIELD_KIND_CHANGED #/A/1"]),
        ("map<string, int32> a = 1;", "B a = 1;", ["FIELD_KIND_CHANGED #/A/1"]),
        ("map<string, int32> a = 1;", "map<string, string> a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
        ("map<string, int32> a = 1;", "map<int32, int32> a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
        ("map<string, int32> a = 1;", "map<string, B> a = 1;", ["FIELD_KIND_CHANGED #/A/1"]),
        ("map<string, B> a = 1;", "map<string, A> a = 1;", ["FIELD_NAMED_TYPE_CHANGED #/A/1"]),
        ("A a = 1;", "B a = 1;", ["FIELD_NAMED_TYPE_CHANGED #/A/1"]),
        ("Missing a = 1;", "Other a = 1;", ["FIELD_NAMED_TYPE_CHANGED #/A/1"]),
        ("Missing a = 1;", "Missing a = 1;", []),
        ("optional int32 a = 1;", "repeated int32 a = 1;", ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"]),
        ("int32 a = 1;", "repeated int32 a = 1;", []),
        ("optional string a = 1;", "repeated string a = 1;", []),
        ("message N { int32 x = 1; }", "message N { string x = 1; }", ["FIELD_SCALAR_KIND_CHANGED #/A/N/1"]),
        ("message N {}", "", ["MESSAGE_REMOVED #/A/N"]),
        ("enum F { Y = 0; }", "", []),
        ("enum F { Y = 0; X = 1; }", "enum F { Y = 0; }", []),
        ("oneof o { string a = 1; int32 b = 2; }", "oneof o { string a = 1; }", ["ONEOF_FIELD_REMOVED #/A/o/2"]),
        ("oneof o { string a = 1; int32 b = 2; }", "string a = 1;", ["ONEOF_FIELD_REMOVED #/A/o/2"]),
        ("oneof o { string a = 1; int32 b = 2; }", "", []),
        ("oneof o { string a = 1; }", "oneof p { string a = 1; }", []),
        ("oneof o { string a = 1; }", "string a = 1;", []),
        ("oneof o { string a = 1; }", "oneof p { int32 a = 1; }", ["FIELD_SCALAR_KIND_CHANGED #/A/p/1"]),
        ("string a = 1;", "oneof o { string a = 1; }", []),
        ("string a = 1; int32 b = 2;", "oneof o { string a = 1; int32 b = 2; }", ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o"]),
        ("string a = 1; oneof o { int32 b = 2; }", "oneof o { string a = 1; int32 b = 2; }", ["FIELD_MOVED_TO_EXISTING_ONEOF #/A/o"]),
        ("oneof o { string a = 1; } oneof p { int32 b = 2; }", "oneof o { string a = 1; int32 b = 2; }", ["FIELD_MOVED_TO_EXISTING_ONEOF #/A/o"]),
        ("oneof o { string a = 1; }", "oneof o { string a = 1; int32 b = 2; }", []),
    ],
)  # fmt: skip
def test_a_change_inside_a_message(old: str, new: str, expected: list[str]) -> None:
    assert kinds(message(old), message(new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "required string a = 1;", ["REQUIRED_FIELD_ADDED #/A/1"]),
        ("required string a = 1;", "", ["REQUIRED_FIELD_REMOVED #/A/1"]),
        ("required int32 a = 1;", "optional int32 a = 1;", ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"]),
        ("optional group G = 1 { optional int32 x = 1; }", "optional group G = 1 { optional string x = 1; }",
         ["FIELD_SCALAR_KIND_CHANGED #/A/G/1", "FIELD_NAMED_TYPE_CHANGED #/A/1"]),
        ("optional group G = 1 {}", "optional B G = 1;", ["FIELD_KIND_CHANGED #/A/1"]),
        ("optional group G = 1 {}", "", []),
    ],
)  # fmt: skip
def test_a_change_that_only_proto2_has(old: str, new: str, expected: list[str]) -> None:
    assert kinds(message(old, "proto2"), message(new, "proto2")) == expected


@pytest.mark.parametrize("old", sorted(SCALAR_TYPES))
def test_types_of_one_group_may_replace_each_other(old: str) -> None:
    [group] = [group for group in GROUPS if old in group]

    for new in SCALAR_TYPES:
        found = kinds(message(f"{old} a = 1;"), message(f"{new} a = 1;"))
        assert found == ([] if new in group else ["FIELD_SCALAR_KIND_CHANGED #/A/1"]), new


def test_a_change_of_the_package_and_of_the_order_of_messages() -> None:
    old = "package p; message A {} message B {}"

    assert kinds(old, "package q; message A {} message B {}") == ["PACKAGE_CHANGED #/"]
    assert kinds(old, "package p; message B {} message A {}") == []
    assert kinds(old, "package p; message B {}") == ["MESSAGE_REMOVED #/A"]


def test_an_imported_message_is_compared_where_a_field_uses_it() -> None:
    text = 'syntax = "proto3"; import "r.proto"; message A { r.M a = 1; r.N b = 2; }'
    old = {
        "r.proto": 'syntax = "proto3"; package r; message M { N n = 1; } message N { int32 x = 1; } message O {}'
    }
    new = {"r.proto": old["r.proto"].replace("int32", "string").replace("message O {}", "")}

    assert kinds(text, text, old, new) == [
        "FIELD_SCALAR_KIND_CHANGED #/N/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/1",
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
        "FIELD_NAMED_TYPE_CHANGED #/A/2",
    ]
    assert kinds(text, text, old, old) == []


def test_messages_that_hold_each_other_are_compared_once() -> None:
    text = 'syntax = "proto3"; import "r.proto"; message A { r.M a = 1; }'
    old = {
        "r.proto": 'syntax = "proto3"; package r; message M { N n = 1; M m = 2; } message N { M m = 1; int32 x = 2; }'
    }
    new = {"r.proto": old["r.proto"].replace("int32", "string")}

    assert kinds(text, text, old, old) == []
    assert "FIELD_NAMED_TYPE_CHANGED #/A/1" in kinds(text, text, old, new)


def test_a_local_message_that_moves_to_another_file_is_compared_too() -> None:
    old = 'syntax = "proto3"; package p; message A { M m = 1; } message M { int32 x = 1; }'
    new = 'syntax = "proto3"; package p; import "m.proto"; message A { M m = 1; }'
    moved = {"m.proto": 'syntax = "proto3"; package p; message M { string x = 1; }'}

    assert kinds(old, new, None, moved) == [
        "FIELD_SCALAR_KIND_CHANGED #/M/1",
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
        "MESSAGE_REMOVED #/M",
    ]


def test_the_message_is_the_one_that_clients_of_the_registry_know() -> None:
    old, new = parse(message("int32 a = 1;"), {}), parse(message("string a = 1;"), {})

    [incompatibility] = new.incompatibilities(old)

    assert incompatibility.message(Language.PROTOBUF, reader="new", writer="old") == (
        '{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"The kind of a SCALAR field at path '
        "'#/A/1' in the new schema does not match its kind in the old schema\"}"
    )


def evolutions() -> list[tuple[str, str, str]]:
    parts = GOLDEN.read_text(encoding="utf-8").split("==== ")[1:]
    return [tuple(part.split("----\n")) for part in parts]  # type: ignore[misc]  # always three


@pytest.mark.parametrize(
    "evolution", evolutions(), ids=lambda evolution: evolution[0].split("\n")[0]
)
def test_a_random_evolution_is_judged_as_the_registry_judges_it(
    evolution: tuple[str, str, str],
) -> None:
    """The answers are those of the registry's own rules, run once on these pairs."""
    old, new, answer = evolution
    sides = []
    for side in (old.partition("\n")[2], new):
        text, _, reference = side.partition("@ref.proto\n")
        sides.append((text, {"ref.proto": reference} if reference else {}))

    found = kinds(sides[0][0], sides[1][0], sides[0][1], sides[1][1])

    assert sorted(set(found)) == sorted(set(answer.splitlines()))

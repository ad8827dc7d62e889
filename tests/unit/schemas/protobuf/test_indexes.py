"""The place of a message, and its bytes in a record."""

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import decode_indexes, encode_indexes, parse

TEXT = """syntax = "proto3"; package p;
enum E { Z = 0; }
message A { map<string, int32> m = 1; message B { message C {} message D {} } enum F { Y = 0; } message G {} }
message H {}"""


@pytest.mark.parametrize(
    ("name", "indexes", "data"),
    [
        ("p.A", (0,), b"\x00"),
        ("p.H", (1,), b"\x02\x02"),
        ("p.A.B", (0, 0), b"\x04\x00\x00"),
        ("p.A.G", (0, 1), b"\x04\x00\x02"),
        ("p.A.B.D", (0, 0, 1), b"\x06\x00\x00\x02"),
    ],
)
def test_a_message_is_found_by_its_place_and_back(
    name: str, indexes: tuple[int, ...], data: bytes
) -> None:
    schema = parse(TEXT, {})

    assert schema.message_indexes(name) == indexes
    assert schema.message_name(indexes) == name
    assert encode_indexes(indexes) == data
    assert decode_indexes(b"?" + data + b"rest", 1) == (indexes, 1 + len(data))


def test_a_message_in_the_descriptor_has_the_place_that_the_text_gives_it() -> None:
    """protoc puts the entry of map `m` first, and would shift B and G."""
    schema = parse(TEXT, {})

    nested = [message.name for message in schema.descriptor.message_type[0].nested_type]

    assert nested == ["B", "G", "MEntry"]


def test_a_large_index_has_several_bytes() -> None:
    assert decode_indexes(encode_indexes((300, 70000))) == ((300, 70000), 6)


def test_at_most_64_indexes_are_read() -> None:
    """Messages are not nested deeper, and a count costs as much as it claims."""
    assert decode_indexes(b"\x80\x01" + b"\0" * 64) == ((0,) * 64, 66)
    with pytest.raises(ValueError, match="65 message indexes, expected at most 64"):
        decode_indexes(b"\x82\x01" + b"\0" * 65)


@pytest.mark.parametrize("name", ["p.Missing", "A", "p.A.Missing", "p.A.F", "p.E", "", "p."])
def test_a_name_that_is_no_message_is_refused(name: str) -> None:
    with pytest.raises(InvalidSchemaError, match="no message"):
        parse(TEXT, {}).message_indexes(name)


@pytest.mark.parametrize("indexes", [(2,), (0, 2), (1, 0), (-1,)])
def test_a_place_without_a_message_is_refused(indexes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidSchemaError, match="no message at"):
        parse(TEXT, {}).message_name(indexes)


@pytest.mark.parametrize(
    "data", [b"", b"\x04\x00", b"\x80", b"\xff" * 10, b"\x01", b"\xfe\xff\x07", b"\x02\xff\xff\xff\xff\xff"]
)  # fmt: skip
def test_damaged_indexes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="message index"):
        decode_indexes(data)


def test_a_file_that_only_imports_publicly_has_the_messages_of_the_other() -> None:
    schema = parse('import public "other.proto";', {"other.proto": TEXT})

    assert schema.name == "p.A"
    assert schema.message_indexes("p.H") == (1,)
    assert schema.message_name((0, 1)) == "p.A.G"
    assert schema.field_names() == {"m"}


@pytest.mark.parametrize(
    ("text", "name"),
    [(TEXT, "p.A"), ("enum E { Z = 0; }", "E"), ("message A {}", "A"), ("", None)],
)
def test_the_name_is_that_of_the_first_message_or_enum(text: str, name: str | None) -> None:
    assert parse(text, {}).name == name

"""Texts that are no schema, some of them made to do harm."""

import sys

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import parse

P3 = 'syntax = "proto3";\n'
DEEP = 10_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "line 1, column 1: expected message, enum, service, extend, option, import or package, found 'nonsense'"),
        ("message {", "line 1, column 9: expected the name of a message, found '{'"),
        ("message A {", "line 1, column 12: expected optional, required or repeated before the type, found the end of the text"),
        (P3 + "message A {\n  string = 1;\n}", "line 3, column 10: expected the name of a field, found '='"),
        (P3 + "message A { string a = b; }", "line 2, column 24: expected a number, found 'b'"),
        (P3 + "message A { string a = 1 }", "line 2, column 26: expected \";\", found '}'"),
        ('syntax = "proto4";', "line 1, column 10: expected \"proto2\" or \"proto3\", found '\"proto4\"'"),
        ('edition = "1999";', "line 1, column 11: expected \"2023\" or \"2024\", found '\"1999\"'"),
        ("message A { string a = 1; }", "line 1, column 13: expected optional, required or repeated before the type, found 'string'"),
        (P3 + "message A { required string a = 1; }", "expected optional or repeated: proto3 has no required fields"),
        (P3 + "message A { repeated map<string, string> a = 1; }", "expected a type: a map has no label"),
        (P3 + "message A { map<double, string> a = 1; }", "expected an integer type, bool or string as the type of a map's keys"),
        (P3 + "message A { map<A, string> a = 1; }", "expected an integer type, bool or string as the type of a map's keys"),
        (P3 + "message A { oneof o { repeated string a = 1; } }", "expected a type: a field of a oneof has no label and is not a map"),
        ('edition = "2023"; message A { optional string a = 1; }', "expected a type: editions have no required and optional, but features"),
        (P3 + "message A {} message A {}", 'type "A" is defined twice'),
        (P3 + "message A { enum B { Z = 0; } message B {} }", 'type "B" is defined twice'),
        (P3 + "service A {} service A {}", 'service "A" is defined twice'),
        (P3 + "package a; syntax = \"proto3\";", "expected message, enum, service, extend, option, import or package, found 'syntax'"),
        (P3 + 'option a = "x', "line 2, column 12: expected the string to end in a quote, found the end of the text"),
        (P3 + "/* open", "line 2, column 1: expected the comment to end in */, found the end of the text"),
        (P3 + "option a = '\\U00110000';", "expected escapes of characters that exist"),
        (P3 + "option a = #;", "line 2, column 12: expected a name, a number, a string or a symbol, found '#'"),
        (P3 + "message A { string a = 1x; }", "expected a name, a number, a string or a symbol, found '1'"),
        (P3 + "message A\0 {}", "expected a name, a number, a string or a symbol, found '\\x00'"),
        (P3 + "option (a) = '\ud800';", "character 33 of the schema is half of a surrogate pair"),
        (P3 + "message A { reserved 1 to; }", 'expected a number or "max", found \';\''),
        (P3 + "service S { rpc R A returns (A); }", "expected \"(\", found 'A'"),
        (P3 + "enum E { A = 2147483648; }", "expected a number of 32 bits, found '2147483648'"),
        (P3 + "option (a) = { b c };", "expected \":\", found 'c'"),
        (P3 + "option (a) = [1 2];", 'expected "," or "]", found \'2\''),
    ],
)  # fmt: skip
def test_the_place_and_the_expectation_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidSchemaError) as refused:
        parse(text, {})

    assert message in refused.value.message


@pytest.mark.parametrize(
    "text",
    [
        P3 + "message A { " * DEEP + "}" * DEEP,
        P3 + "option (a) = " + "{ a: " * DEEP + "1" + "}" * DEEP + ";",
        P3 + "option (a) = " + "[" * DEEP + "]" * DEEP + ";",
        P3 + "option (a) = { a " + "< a " * DEEP,
        P3 + "message A { optional group G = 1 { " * DEEP,
        P3 + "option (a)" + ".a" * DEEP + " = 1;",
        P3 + "package a" + ".a" * DEEP + ";",
        P3 + "message A { a" + ".a" * DEEP + " x = 1; }",
        P3 + "message A { string a = " + "9" * DEEP + "; }",
        P3 + "message A { string a = 0x" + "9" * DEEP + "; }",
        P3 + "/*" + "*" * 1_000_000,
        P3 + "'" + "\\\\" * 500_000,
        P3 + '"' * 1_000_001,
        P3 + "}" * 1_000_000,
        "QUFB" * 250_000,
        "\0" * 1_000_000,
    ],
    ids=range(16),
)
def test_a_text_made_to_exhaust_is_refused(text: str) -> None:
    limit = sys.getrecursionlimit()

    with pytest.raises(InvalidSchemaError):
        parse(text, {})
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("depth", [64, 65])
def test_the_limit_of_nesting(depth: int) -> None:
    text = P3 + "".join(f"message M{n} {{ " for n in range(depth)) + "}" * depth

    if depth == 64:
        schema = parse(text, {})
        assert schema.message_class(".".join(f"M{n}" for n in range(64)))
        assert parse(schema.formatted("serialized"), {}).canonical == schema.canonical
    else:
        with pytest.raises(InvalidSchemaError, match="at most 64 levels of nesting"):
            parse(text, {})


def test_numbers_of_10000_digits_in_options_are_kept() -> None:
    digits = "9" * DEEP
    text = f'syntax = "proto3"; option (a) = {digits}; option (b) = -0x{digits}; option (c) = 1e{digits}; option (d) = 0{"7" * DEEP};'

    schema = parse(text, {})

    assert digits in schema.normalized()
    assert len(schema.descriptor.options.uninterpreted_option) == 4


def test_a_long_chain_of_imports_exhausts_nothing() -> None:
    """Neither the comparison nor the pool recurses; the library does for a message's class."""
    count = 3 * sys.getrecursionlimit()
    last = f'syntax = "proto3"; package p{count}; message M {{ %s s = 1; }}'
    references = {
        f"f{n}": f'syntax = "proto3"; package p{n}; import "f{n + 1}"; message M {{ p{n + 1}.M m = 1; }}'
        for n in range(count)
    }
    text = 'syntax = "proto3"; import "f0"; message X { p0.M a = 1; }'
    old = parse(text, {**references, f"f{count}": last % "string"}, strict=False)
    new = parse(text, {**references, f"f{count}": last % "int32"}, strict=False)

    found = new.incompatibilities(old)

    assert len(found) == count + 2
    assert found[0].kind == "FIELD_SCALAR_KIND_CHANGED"
    assert len(old.pool.FindFileByName("f0").dependencies) == 1
    with pytest.raises(InvalidSchemaError, match="too long a chain"):
        old.message_class("X")

"""The text in which two schemas of one meaning are equal."""

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import parse
from duolog.schemas.protobuf.normal_options import normal_number

OPTIONS = """syntax = "proto3";
package opt;
import "google/protobuf/descriptor.proto";
message O { string s = 1; repeated int32 r = 2; O o = 3; }
extend google.protobuf.FieldOptions { O one = 50000; repeated O many = 50001; string ext = 50002; }
"""


def normalized(text: str) -> str:
    return parse(text, {"opt.proto": OPTIONS}).normalized()


def test_everything_whose_order_means_nothing_is_sorted() -> None:
    text = """import "b.proto"; import "a.proto"; import "b.proto";
    message Z { reserved "b", 9, 7 to 8; reserved "a", 3 to 3; extensions 30, 20 to 25;
      optional string b = 2; oneof y { string d = 5; string c = 4; } optional string a = 1;
      oneof x { string f = 6; } }
    enum E { option deprecated = true; TWO = 2; option allow_alias = true; ONE = 1; UNO = 1; }
    message A {}"""

    assert normalized(text) == (
        '\nimport "a.proto";\nimport "b.proto";\n\n'
        "message Z {\n  reserved 3;\n  reserved 7 to 8;\n  reserved 9;\n"
        '  reserved "a";\n  reserved "b";\n\n'
        "  optional string a = 1;\n  optional string b = 2;\n\n"
        "  oneof y {\n    string c = 4;\n    string d = 5;\n  }\n"
        "  oneof x {\n    string f = 6;\n  }\n\n"
        "  extensions 20 to 25;\n  extensions 30;\n}\nmessage A {}\n"
        "enum E {\n  option allow_alias = true;\n  option deprecated = true;\n"
        "  ONE = 1;\n  UNO = 1;\n  TWO = 2;\n}\n"
    )


@pytest.mark.parametrize("name", ["C", "B.C", "A.B.C", "b.A.B.C", "a.b.A.B.C", ".a.b.A.B.C"])
def test_a_type_gets_its_full_name(name: str) -> None:
    text = f'syntax = "proto3"; package a.b; message A {{ message B {{ {name} c = 1; map<string, {name}> m = 2; message C {{}} }} }}'

    result = normalized(text)

    assert ".a.b.A.B.C c = 1;" in result
    assert "map<string, .a.b.A.B.C> m = 2;" in result


def test_a_map_that_is_spelled_as_a_message_becomes_a_map() -> None:
    spelled = """syntax = "proto3"; message A { repeated .A.MEntry m = 1;
      message MEntry { option map_entry = true; string key = 1; int32 value = 2; } }"""

    assert normalized(spelled) == normalized(
        'syntax = "proto3"; message A { map<string, int32> m = 1; }'
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('(opt.one) = { s: "x" r: 1 }', '(opt.one).r = 1, (opt.one).s = "x"'),
        ("(opt.one) = { r: [1] }", "(.opt.one) = { r: 0x1 }"),
        ('(opt.one).o.s = "x", (opt.one).o.r = 1', '(opt.one) = { o { r: 1, s: "x" } }'),
        ("(opt.one).r = 1, (opt.one).r = 2", "(opt.one) = { r: 1 r: 2 }"),
        ('(opt.one).s = "x", (opt.one).s = "y"', '(opt.one).s = "y"'),
        ("deprecated = true, (opt.one) = {}", "(opt.one) = { r: [] }, deprecated = true"),
    ],
)
def test_options_that_mean_the_same_are_equal(first: str, second: str) -> None:
    text = 'syntax = "proto3"; import "opt.proto"; message A {{ string a = 1 [{}]; }}'

    assert normalized(text.format(first)) == normalized(text.format(second))


def test_repeated_options_stay_apart() -> None:
    text = 'syntax = "proto3"; import "opt.proto"; message A { string a = 1 [(opt.many).s = "x", (opt.many).s = "y"]; }'

    assert normalized(text).count("(opt.many)") == 2


@pytest.mark.parametrize(
    ("number", "plain"),
    [
        ("1e5", "100000"), ("1.50", "1.5"), ("0x1F", "31"), ("-0x1F", "-31"), ("010", "8"), ("1.5f", "1.5"),
        ("0.0001", "0.0001"), ("-inf", "-inf"), ("1e999999999", "1e999999999"), ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_a_number_is_written_in_decimal_digits(number: str, plain: str) -> None:
    assert normal_number(number) == plain


@pytest.mark.parametrize(
    "part",
    [
        "message A { Missing m = 1; }",
        "message A { map<string, Missing> m = 1; }",
        "message A { oneof o { Missing m = 1; } }",
        "extend Missing { string s = 1; }",
        "message A {} service S { rpc R (A) returns (Missing); }",
    ],
)
def test_a_type_that_is_not_defined_is_refused_only_if_strict(part: str) -> None:
    text = f'syntax = "proto3"; package p; {part}'

    with pytest.raises(InvalidSchemaError, match='type "Missing" is not defined'):
        parse(text, {})
    assert "Missing" in parse(text, {}, strict=False).canonical

"""The text as the registry stores and returns it."""

import pytest

from duolog.schemas.protobuf import parse

EVERYTHING = """// comment
syntax = "proto3"; package a.b;
import public "y.proto"; import 'x.proto'; import weak "w.proto";
enum Late { LATE = 0; }
option (file).name = {list: [1, "two"] same: 1 same: 2 block { x: -1.5 } empty {}};
message A {
  map<string, B> m = 3; oneof o { string s = 4; option (q) = 1; }
  reserved 1 to 5, 10, 20 to max; reserved "old", 'older';
  optional int32 x = 0x10 [json_name = "y", deprecated = true];
  message B { enum E { option allow_alias = true; E0 = 0; reserved 7; } string t = 1; reserved 9; }
  option deprecated = true;
}
service S { rpc R (stream A) returns (.a.b.A) { option deprecated = true; }; rpc T (A) returns (A) {} }
extend google.protobuf.FieldOptions { string note = 50000; }
"""
# A point stands for a space at the end of a line.
CANONICAL = """syntax = "proto3";
package a.b;

import "x.proto";
import public "y.proto";
import weak "w.proto";

option (file).name = {
  list: [
    1,
    "two"
  ],
  same: [
    1,
    2
  ],
  block: {
    x: -1.5
  },
  empty: {
  }
};

message A {
  reserved 1 to 5, 10, 20 to max;
  reserved "old", "older";

  option deprecated = true;

  map<string, B> m = 3;
  optional int32 x = 16 [
    deprecated = true,
    json_name = "y"
  ];

  oneof o {
    option (q) = 1;
..
    string s = 4;
  }

  message B {
    reserved 9;
..
    string t = 1;
..
    enum E {
      reserved 7;
      option allow_alias = true;
      E0 = 0;
    }
  }
}
enum Late {
  LATE = 0;
}

extend google.protobuf.FieldOptions {
  string note = 50000;
}

service S {
  rpc R (stream A) returns (.a.b.A) {
    option deprecated = true;
  };
  rpc T (A) returns (A);
}
""".replace("..", "  ")


def test_the_layout_is_the_registrys() -> None:
    assert parse(EVERYTHING, {}, strict=False).canonical == CANONICAL


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("message A {}", "\nmessage A {}\n"),
        ('syntax = "proto2";', 'syntax = "proto2";\n'),
        ('edition = "2023"; message A { reserved a; }', 'edition = "2023";\n\nmessage A {\n  reserved a;\n}\n'),
        ("import './a//b.proto';", '\nimport "a/b.proto";\n'),
        ("import '../a.proto';", '\nimport "../a.proto";\n'),
    ],
)  # fmt: skip
def test_a_part_that_is_absent_leaves_no_trace(text: str, canonical: str) -> None:
    assert parse(text, {}).canonical == canonical


@pytest.mark.parametrize(
    ("literal", "written"),
    [
        (r"'a\x41\101\n\'\"'", r'"aAA\n\'\""'),
        (r"'\303\251'", '"é"'),
        (r"'\377'", r'"\377"'),
        (r"'\0007'", r'"\0007"'),
        ("'one' \"two\"", '"onetwo"'),
        (r"'\u00e9\U0001F600'", '"é😀"'),
    ],
)
def test_a_string_keeps_its_bytes(literal: str, written: str) -> None:
    text = f"option a = {literal};"

    assert parse(text, {}).canonical == f"\noption a = {written};\n"


def test_the_default_of_bytes_stays_a_string() -> None:
    """The registry's own text has no quotes here and cannot be read again."""
    text = 'message A {\n  optional bytes b = 1 [default = "a b"];\n}\n'

    assert text in parse(text, {}).canonical


def test_extensions_can_be_left_out() -> None:
    schema = parse(
        """syntax = "proto2";
        option (mine) = 1;
        message A {
          option (confluent.message_meta).doc = "kept"; extensions 5 to max;
          optional string a = 1 [(mine) = 2, deprecated = true];
        }
        extend A { optional string b = 5; }""",
        {},
    )

    assert schema.formatted("ignore_extensions") == (
        'syntax = "proto2";\n\nmessage A {\n  option (confluent.message_meta).doc = "kept";\n\n'
        "  optional string a = 1 [deprecated = true];\n}\n"
    )


@pytest.mark.parametrize("form", ["", "default", "unknown", "no_alias"])
def test_an_unknown_form_is_the_canonical_text(form: str) -> None:
    schema = parse("message A {}", {})

    assert schema.formatted(form) == schema.canonical

"""Tags of messages and fields."""

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import parse
from duolog.schemas.schema import Tagged

TEXT = """syntax = "proto3"; package p; import "confluent/meta.proto";
message A {
  option (confluent.message_meta).tags = "R";
  string a = 1 [(confluent.field_meta) = { tags: ["X", "Y"] doc: "d" }, json_name = "j"];
  string b = 2;
  oneof o { string c = 3 [(.confluent.field_meta).tags = "Z", (confluent.field_meta).tags = "W"]; }
  message N { string d = 1 [(confluent.field_meta).tags = "V"]; }
}
"""
TAGS = {
    ("sr_record", "A"): ("R",),
    ("sr_field", "A.a"): ("X", "Y"),
    ("sr_field", "A.c"): ("Z", "W"),
    ("sr_field", "A.N.d"): ("V",),
}


def test_each_message_and_field_tells_its_tags() -> None:
    schema = parse(TEXT, {})

    assert isinstance(schema, Tagged)
    assert schema.tags() == TAGS
    assert schema.field_names() == {"a", "b", "c"}


@pytest.mark.parametrize("path", ["A.a", "A.b", "A.c", "A.o.c", "A.N.d", ".A.a"])
def test_tags_are_added_and_removed(path: str) -> None:
    schema = parse(TEXT, {})
    entity = ("sr_field", path)

    changed = parse(schema.with_tags({entity: ("NEW", "X")}, {entity: ("Y", "V")}), {})

    name = path.removeprefix(".").replace(".o.", ".")
    before = TAGS.get(("sr_field", name), ())
    kept = [tag for tag in dict.fromkeys((*before, "NEW", "X")) if tag not in {"Y", "V"}]
    assert changed.tags()["sr_field", name] == tuple(kept)
    assert {key: tags for key, tags in changed.tags().items() if key[1] != name} == {
        key: tags for key, tags in TAGS.items() if key[1] != name
    }
    assert parse(changed.canonical, {}).canonical == changed.canonical


def test_the_last_tag_takes_the_option_with_it() -> None:
    entity = ("sr_record", "A")

    changed = parse(TEXT, {}).with_tags({}, {entity: ("R",)})

    assert "message_meta" not in changed


def test_what_else_the_option_has_stays() -> None:
    changed = parse(TEXT, {}).with_tags({}, {("sr_field", "A.a"): ("X", "Y")})

    assert 'doc: "d"' in changed


@pytest.mark.parametrize(
    "entity",
    [("sr_field", "A.x"), ("sr_field", "A"), ("sr_record", "B"), ("sr_record", "A.a"), ("sr_field", "A.N"), ("sr_field", "")],
)  # fmt: skip
def test_a_path_that_leads_nowhere_is_refused(entity: tuple[str, str]) -> None:
    with pytest.raises(InvalidSchemaError, match="the schema has no"):
        parse(TEXT, {}).with_tags({entity: ("X",)}, {})

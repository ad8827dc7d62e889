"""JSON_SR in the kernel: JSON after a frame."""

from typing import Final

import pytest

from unit.kernel.formats.schema_conversions import Bad, Conversion, convert, shown, written

pytestmark = pytest.mark.timeout(120)

FRAME: Final = b"\0\0\0\0"


def test_json_sr_after_its_frame_may_be_null_or_unreadable() -> None:
    data = [FRAME + b"\1" + text for text in (b"null", b" null\n", b"nul", b"[1]", b"")]

    (outcome,) = convert(shown("N INT", "JSON_SR", {}, *data)).outcomes

    assert outcome[:2] == [None, None]
    assert all(isinstance(one, Bad) for one in outcome[2:])


def test_maps_are_objects_if_the_schema_describes_them_so() -> None:
    row = '{"M":[{"key":"a","value":1}],"N":[{"key":2,"value":3}]}'
    columns = "M MAP<STRING, INT>, N MAP<INT, INT>"
    objects = {"id": "7", "maps": "objects"}

    found = convert(
        written("M MAP<STRING, INT>", "JSON_SR", objects, '{"M":{"a":1}}'),
        written(columns, "JSON_SR", {"id": "7", "maps": "entries"}, row),
    ).outcomes

    frame = FRAME + b"\7"
    assert found == [[frame + b'{"M":{"a":1}}'], [frame + row.encode()]]


def test_maps_whose_keys_are_not_texts_are_entries_next_to_objects() -> None:
    columns = "M MAP<BOOLEAN, INT>, N MAP<STRING, MAP<INT, INT>>"
    row = '{"M":[{"key":true,"value":1}],"N":{"a":[{"key":-1,"value":2}]}}'

    found = convert(written(columns, "JSON_SR", {"id": "7", "maps": "objects"}, row)).outcomes

    assert found == [[FRAME + b"\7" + row.encode()]]


def test_a_time_is_a_number_at_any_depth() -> None:
    columns = "T SMALLINT, S STRUCT<T: SMALLINT>, L ARRAY<SMALLINT>, M MAP<STRING, SMALLINT>"
    row = '{"T":86399999,"S":{"T":1},"L":[2,null],"M":[{"key":"a","value":3}]}'

    assert convert(written(columns, "JSON_SR", {"id": "1"}, row)).outcomes == [[row.encode()]]


def test_a_bare_value_has_no_object_around_it() -> None:
    bare = {"single": "bare"}
    data = [FRAME + b"\1" + text for text in (b"7", b"null", b'{"N":7}')]

    ((seven, null, other),) = convert(
        Conversion("N INT", data, read=bare, write={"id": "7", **bare})
    ).outcomes

    assert seven == FRAME + b"\7" + b"7"
    assert null is None
    assert isinstance(other, Bad)


def test_a_null_row_of_one_column_is_no_value() -> None:
    """As the value of a record, it would be JSON's null, which readers take for a missing one."""
    bare = {"id": "7", "single": "bare"}

    assert convert(written("N INT", "JSON_SR", bare, '{"N":null}')).outcomes == [[None]]


def test_names_of_fields_are_keys_that_are_true_or_false() -> None:
    entries = {"id": "1", "maps": "entries"}
    row, other = '{"M":{"true":1,"false":2}}', '{"M":{"True":1}}'

    found, bad = convert(
        written("M MAP<BOOLEAN, INT>", "JSON_SR", entries, row),
        written("M MAP<BOOLEAN, INT>", "JSON_SR", entries, other),
    ).outcomes

    assert found == [b'{"M":[{"key":true,"value":1},{"key":false,"value":2}]}']
    assert isinstance(bad[0], Bad)

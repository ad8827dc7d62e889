"""Formats with schemas as calls of the kernel's functions."""

import pytest

from duolog.core.types import TIME, Array, Column, Struct, parse_columns
from duolog.engine.lowering.formats.formats import decode, encode
from duolog.plan.formats import Format

REGISTRY = ("registry", "http://127.0.0.1:8081")
ONE = parse_columns("A INT")
TWO = parse_columns("A INT, B MAP<INT, STRING>")


def test_a_record_is_read_with_the_schema_of_its_id_alone() -> None:
    of = Format("AVRO", (("id", "7"), REGISTRY, ("schema", '"int"')))

    decoded = decode(of, TWO, "value", first=3)

    assert decoded.columns == ["p3.`A`", "p3.`B`"]
    assert decoded.is_null == "p3 IS NULL"
    assert decoded.corrupt == "false"  # the kernel's function fails
    ddl = "`A` INT, `B` MAP<INT, STRING>"
    problem = "its value is not AVRO of (A INT, B MAP<INT, STRING>)"
    options = f'{{"registry": "http://127.0.0.1:8081", "problem": "{problem}"}}'
    header = "duolog_header(headers, '__value_schema_id')"
    source = f"coalesce(concat({header}, value), value)"
    assert decoded.parsed == [f"duolog_avro_read({source}, '{ddl}', '{options}')"]


def test_a_record_is_written_with_the_schema_of_its_format() -> None:
    of = Format("AVRO", (("id", "7"), REGISTRY, ("schema", '"int"')))

    written = encode(of, ONE, ["v0"], "value")

    assert written.startswith("duolog_avro_write(struct(v0), '`A` INT', ")
    assert '"id": "7"' in written
    assert '"single"' not in written


@pytest.mark.parametrize(
    ("part", "single", "columns", "bare"),
    [
        ("key", (), ONE, True),
        ("key", (), TWO, False),
        ("value", (), ONE, False),
        ("value", (("single", "bare"),), ONE, True),
        ("value", (("single", "bare"),), TWO, False),
    ],
)
@pytest.mark.parametrize("name", ["AVRO", "JSON_SR"])
def test_a_single_column_stands_alone_in_a_key_or_if_the_format_says_so(
    name: str, part: str, single: tuple[tuple[str, str], ...], columns: object, *, bare: bool
) -> None:
    decoded = decode(Format(name, (REGISTRY, *single)), columns, part, first=0)  # type: ignore[arg-type]

    assert ('"single": "bare"' in decoded.parsed[0]) is bare


@pytest.mark.parametrize(
    ("schema", "maps"),
    [
        ('{"type":"object","additionalProperties":{"type":"string"}}', "objects"),
        ('{"type":"array","items":{"type":"object"}}', "entries"),
    ],
)
def test_maps_are_written_as_the_json_schema_describes_them(schema: str, maps: str) -> None:
    of = Format("JSON_SR", (("id", "1"), REGISTRY, ("schema", schema)))

    written = encode(of, TWO, ["v0", "v1"], "value")

    assert f'"maps": "{maps}"' in written
    assert '"schema"' not in written


def test_a_time_differs_from_an_int() -> None:
    columns = (Column("T", TIME), Column("S", Struct((Column("L", Array(TIME)),))))

    decoded = decode(Format("AVRO", (REGISTRY,)), columns, "value", first=0)

    assert "'`T` SMALLINT, `S` STRUCT<`L`: ARRAY<SMALLINT>>'" in decoded.parsed[0]


def test_a_key_without_columns_is_not_read() -> None:
    decoded = decode(Format("AVRO", (REGISTRY,)), (), "key", first=0)

    assert (decoded.parsed, decoded.is_null) == ([], "key IS NULL")

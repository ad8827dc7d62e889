"""Format JSON_SR: JSON after the id of its schema."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import TIME, Column, parse_columns
from duolog.schemas.json_schema.columns import schema_text, value_schema
from duolog.serde.json_sr import JsonSrSerde
from duolog.serde.row import Row

COLUMNS = (
    *parse_columns(
        "I INT, FARE DECIMAL(6, 2), X BYTES, DAY DATE, AT TIMESTAMP, M MAP<STRING, INT>, "
        "K MAP<BIGINT, ARRAY<MAP<INT, STRING>>>, S STRUCT<A STRING>"
    ),
    Column("T", TIME),
)
ROW: Row = (
    1,
    Decimal("1.50"),
    b"\0\xff",
    dt.date(1970, 1, 3),
    dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC),
    {"a": 1, "b": None},
    {5: [{6: "x"}]},
    {"A": None},
    1000,
)


def test_rows_are_written_in_the_form_of_kafka_connect_and_read_again() -> None:
    serde = JsonSrSerde(COLUMNS, schema_id=258, schema=schema_text(value_schema(COLUMNS)))

    data = serde.serialize(ROW)

    assert data is not None
    assert data[:5] == b"\0\0\0\1\2"
    assert json.loads(data[5:]) == {
        "I": 1,
        "FARE": 1.5,
        "X": "AP8=",
        "DAY": 2,
        "AT": 1000,
        "M": [{"key": "a", "value": 1}, {"key": "b", "value": None}],
        "K": [{"key": 5, "value": [[{"key": 6, "value": "x"}]]}],
        "S": {"A": None},
        "T": 1000,
    }
    assert b'"FARE":1.50,' in data
    assert serde.deserialize(data) == ROW
    assert serde.serialize(None) is None
    assert serde.deserialize(None) is None


def test_maps_are_objects_if_the_schema_says_so_and_are_read_in_both_forms() -> None:
    columns = parse_columns("M MAP<STRING, INT>")
    schema = {
        "type": "object",
        "properties": {"M": {"type": "object", "additionalProperties": {"type": "integer"}}},
    }
    serde = JsonSrSerde(columns, schema_id=1, schema=json.dumps(schema))

    data = serde.serialize(({"a": 1},))

    assert data == b'\0\0\0\0\1{"M":{"a":1}}'
    entries = b'\0\0\0\0\1{"m":[{"key":"a","value":1}]}'
    assert [serde.deserialize(one) for one in (data, entries)] == [({"a": 1},), ({"a": 1},)]


def test_maps_whose_keys_are_not_texts_are_entries_next_to_objects() -> None:
    columns = parse_columns("M MAP<BOOLEAN, INT>, N MAP<STRING, MAP<INT, INT>>")
    of = {"type": "object", "additionalProperties": {"type": "integer"}}
    schema = json.dumps({"type": "object", "properties": {"N": of}})
    serde = JsonSrSerde(columns, schema_id=1, schema=schema)

    data = serde.serialize(({True: 1}, {"a": {-1: 2}}))

    assert data == (b'\0\0\0\0\1{"M":[{"key":true,"value":1}],"N":{"a":[{"key":-1,"value":2}]}}')
    assert serde.deserialize(data) == ({True: 1}, {"a": {-1: 2}})


def test_names_of_fields_are_keys_that_are_true_or_false() -> None:
    serde = JsonSrSerde(parse_columns("M MAP<BOOLEAN, INT>"))

    found = serde.deserialize(b'\0\0\0\0\1{"M":{"true":1,"false":0}}')

    assert found == ({True: 1, False: 0},)
    with pytest.raises(SerdeError):
        serde.deserialize(b'\0\0\0\0\1{"M":{"True":1}}')


def test_a_single_column_is_bare_and_null_has_no_bytes() -> None:
    serde = JsonSrSerde(
        parse_columns("A STRING"), schema_id=1, schema='{"type":"string"}', bare=True
    )

    assert serde.serialize(("x",)) == b'\0\0\0\0\1"x"'
    assert serde.serialize((None,)) is None
    assert serde.deserialize(b"\0\0\0\0\1" + b"10") == ("10",)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b'\1\0\0\0\1{"A":"x"}', b"\0\0\0\0\1", b"\0\0\0\0\1{", b'\0\0\0\0\1{"M":[1]}'],
)
def test_damaged_bytes_are_a_serde_error(data: bytes) -> None:
    with pytest.raises(SerdeError):
        JsonSrSerde(parse_columns("M MAP<STRING, INT>")).deserialize(data)


def test_a_serde_that_only_reads_refuses_to_write() -> None:
    with pytest.raises(SerdeError, match="no JSON Schema to write with"):
        JsonSrSerde(parse_columns("A INT")).serialize((1,))

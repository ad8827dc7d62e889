"""Rows of /inserts-stream: their statements, their acknowledgements, their errors."""

import json
from typing import Any

import pytest
from sqlglot import exp

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.script import parse
from duolog.server.errors import RequestRefused
from unit.server.ksql.sessions import Catalog

SQL = (
    "CREATE STREAM s (id STRING KEY, n INT, price DECIMAL(4, 2), raw BYTES, tags ARRAY<STRING>, "
    "by_name MAP<STRING, INT>, at STRUCT<x INT, `y` STRING>, day DATE, `low` BOOLEAN) "
    "WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    "CREATE TABLE t (id STRING PRIMARY KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
)

NAME = exp.Identifier(this="S", quoted=True)


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    reply = made.endpoints().ksql(json.dumps({"ksql": SQL}).encode())
    assert reply.status == 200
    made.performed.clear()
    return made


def inserted(catalog: Catalog, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    inserts = catalog.endpoints().open_inserts(b'{"target": "s"}')
    return [json.loads(ack) for row in rows for ack in inserts.insert([json.dumps(row).encode()])]


def test_each_row_is_acknowledged_with_its_number(catalog: Catalog) -> None:
    inserts = catalog.endpoints().open_inserts(b'{"target": "S", "properties": {}}')

    first = inserts.insert([b'{"id": "a", "n": 1}'])
    second = inserts.insert([b'{"ID": "b"}'])

    assert first == [b'{"status":"ok","seq":0}']
    assert second == [b'{"status":"ok","seq":1}']
    assert not inserts.failed
    assert catalog.performed == [
        "INSERT INTO `S` (`ID`, `N`) VALUES ('a', 1);",
        "INSERT INTO `S` (`ID`) VALUES ('b');",
    ]


def test_rows_that_arrive_together_are_inserted_together(catalog: Catalog) -> None:
    inserts = catalog.endpoints().open_inserts(b'{"target": "s"}')

    acks = inserts.insert([b'{"n": %d}' % number for number in range(5)])

    assert acks == [b'{"status":"ok","seq":%d}' % number for number in range(5)]
    assert (catalog.batches, len(catalog.performed)) == ([5], 5)


@pytest.mark.parametrize(
    ("bad", "failing"),
    [
        (b'{"n": "x"}', ""),
        (b'{"n": [1]}', ""),
        (b"{", ""),
        (b'{"a b": 1}', ""),
        (b'{"n": 7}', "INSERT INTO `S` (`N`) VALUES (7)"),
    ],
)
def test_rows_before_an_error_are_inserted_and_those_after_it_are_not(
    catalog: Catalog, bad: bytes, failing: str
) -> None:
    catalog.failing = failing or "none"
    inserts = catalog.endpoints().open_inserts(b'{"target": "s"}')
    inserts.insert([b'{"n": 0}'])

    acks = [json.loads(one) for one in inserts.insert([b'{"n": 1}', bad, b'{"n": 2}', bad])]

    assert [(one["status"], one["seq"]) for one in acks] == [("ok", 1), ("error", 2)]
    assert inserts.failed
    assert catalog.performed == [
        "INSERT INTO `S` (`N`) VALUES (0);",
        "INSERT INTO `S` (`N`) VALUES (1);",
    ]


def test_only_the_first_error_is_acknowledged(catalog: Catalog) -> None:
    catalog.failing = "INSERT INTO `S` (`N`) VALUES (7)"
    inserts = catalog.endpoints().open_inserts(b'{"target": "s"}')

    (ack,) = inserts.insert([b'{"n": 7}', b'{"n": 8}', b"{"])

    assert json.loads(ack)["seq"] == 0
    assert "the topic was deleted meanwhile" in json.loads(ack)["message"]


@pytest.mark.parametrize(
    ("member", "value", "written"),
    [
        ("id", "it's ${x} -- ; '", "'it''s ${x} -- ; '''"),
        ("n", None, "NULL"),
        ("n", -5, "-5"),
        ("price", 1.5, "1.5"),
        ("price", 1e1, "10.0"),
        ("raw", "AP8=", "TO_BYTES('AP8=', 'base64')"),
        ("tags", ["a", None], "ARRAY['a', NULL]"),
        ("by_name", {"k": 1}, "MAP('k' := 1)"),
        ("at", {"X": 1, "`y`": "b"}, "STRUCT(`X` := 1, `y` := 'b')"),
        ("at", {"x": 1}, "STRUCT(`X` := 1, `y` := NULL)"),
        ("day", "2020-01-02", "'2020-01-02'"),
        ("`low`", True, "TRUE"),
    ],
)
def test_values_are_inserted_as_by_a_statement(
    catalog: Catalog, member: str, value: object, written: str
) -> None:
    (ack,) = inserted(catalog, {member: value})

    assert ack == {"status": "ok", "seq": 0}
    assert catalog.performed[0].endswith(f"VALUES ({written});")
    (parsed,) = parse(catalog.performed[0])
    assert catalog.inserted == [parsed], "the syntax tree is that of the text"


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_whole_numbers_have_the_range_of_bigint(catalog: Catalog, number: int) -> None:
    catalog.endpoints().ksql(
        b"{\"ksql\": \"CREATE STREAM big (n BIGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');\"}"
    )
    inserts = catalog.endpoints().open_inserts(b'{"target": "big"}')
    beyond = number + (1 if number > 0 else -1)

    fits, refused = inserts.insert([b'{"n": %d}' % number, b'{"n": %d}' % beyond])

    assert json.loads(fits)["status"] == "ok"
    assert json.loads(refused)["error_code"] == 40001
    assert f"Invalid numeric literal: {beyond}" in json.loads(refused)["message"]


def test_a_row_without_members_is_a_row_of_nulls(catalog: Catalog) -> None:
    """It was an error about a closing parenthesis."""
    (ack,) = inserted(catalog, {})

    assert ack == {"status": "ok", "seq": 0}
    assert catalog.inserted == [nodes.InsertValues(this=NAME, columns=[], expressions=[])]


@pytest.mark.parametrize(
    "number", ["1e999999999", "-1e-999999999", "0e999999999", "1.5e401", "1e-401"]
)
def test_a_number_that_no_type_can_hold_is_not_written_out(catalog: Catalog, number: str) -> None:
    inserts = catalog.endpoints().open_inserts(b'{"target": "s"}')

    (written,) = inserts.insert([f'{{"tags": [{number}]}}'.encode()])
    ack = json.loads(written)

    assert (ack["status"], ack["error_code"]) == ("error", 40000)
    assert ack["message"].endswith("is out of range")
    assert catalog.performed == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"n": "x"}, "Expected type INTEGER for field `N`"),
        ({"nope": 1}, "Column name `NOPE` does not exist."),
        ({"n": [1]}, "Can't coerce a field of type list to INT"),
        ({"a b": 1}, "Not a name: 'a b'"),
        ({"n`) VALUES (1); --": 1}, "Not a name"),
        ({"id": "a", "ID": "b"}, "Two members of the row name the same column"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error(
    catalog: Catalog, row: dict[str, Any], message: str
) -> None:
    inserts = catalog.endpoints().open_inserts(b'{"target": "s"}')

    (written,) = inserts.insert([json.dumps(row).encode()])
    ack = json.loads(written)

    assert (ack["status"], ack["seq"]) == ("error", 0)
    assert ack["error_code"] // 100 == 400
    assert message in ack["message"]
    assert inserts.failed
    assert catalog.performed == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "Invalid JSON"),
        (b'{"target": "x"}', "unknown stream: X"),
        (b'{"target": "t"}', "Cannot insert into a table"),
        (b'{"target": "`s`"}', "unknown stream: s"),
        (b'{"target": "a b"}', "Not a name"),
    ],
)
def test_the_first_line_must_name_a_stream(catalog: Catalog, line: bytes, message: str) -> None:
    with pytest.raises(RequestRefused, match=message):
        catalog.endpoints().open_inserts(line)

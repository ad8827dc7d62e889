"""Cases of the REST server, in process and over HTTP, and the comparison of their responses."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.conditions import Mismatch
from duolog.testing.qtt.rest_matching import ensure_parts, ensure_proto_parts, matches
from duolog.testing.qtt.rest_run import Transport, in_process
from duolog.testing.qtt.rest_server import RestServer
from duolog.testing.qtt.runner import run_case

DECLARED = (
    "CREATE TABLE items (id STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='i', VALUE_FORMAT='JSON');",
    "CREATE TABLE totals AS SELECT id, n * 2 AS twice FROM items;",
)
INPUTS = [
    {"topic": "i", "key": "a", "value": {"n": 1}},
    {"topic": "i", "key": "b", "value": {"n": 2}},
]
STATUS = {"admin": {"@type": "currentStatus", "statementText|starts_with": "CREATE "}}
HEADER = {"header": {"schema": "`ID` STRING KEY, `TWICE` INTEGER"}}


def rows(*found: list[object]) -> list[dict[str, Any]]:
    return [HEADER, *({"row": {"columns": row}} for row in found)]


def case(select: str, **spec: Any) -> Case:
    statements = (*DECLARED, select)
    given = {"suite": "RQTT", "inputs": INPUTS, **spec}
    return Case("file.json", "RQTT", "name", statements, given)


@pytest.fixture(scope="module")
def server() -> Iterator[RestServer]:
    with RestServer() as running:
        yield running


@pytest.fixture(params=["in-process", "http"])
def transport(request: pytest.FixtureRequest, server: RestServer) -> Transport:
    return in_process if request.param == "in-process" else server.send


def test_a_case_passes_if_all_its_responses_match(transport: Transport) -> None:
    wanted = [STATUS, STATUS, {"query": rows(["b", 4], ["a", 2])}]

    outcome = run_case(case("SELECT * FROM totals;", responses=wanted), transport=transport)

    assert (outcome.status, outcome.reason) == ("pass", "")


@pytest.mark.parametrize(
    ("responses", "reason"),
    [
        ([STATUS, STATUS, {"query": rows(["a", 2])}], "expected 2 parts, found 3"),
        ([STATUS, STATUS, {"query": rows(["a", 2], ["b", 5])}], "expected {'row'"),
        ([STATUS, {"admin": {"@type": "streams"}}, {"query": rows()}], "entity: found"),
        ([STATUS, {"query": rows(["a", 2], ["b", 4])}], "expected 1 entities"),
        ([STATUS, STATUS], ""),
    ],
)
def test_a_case_fails_if_a_response_differs(
    transport: Transport, responses: list[dict[str, Any]], reason: str
) -> None:
    outcome = run_case(case("SELECT * FROM totals;", responses=responses), transport=transport)

    assert outcome.status == ("fail" if reason else "pass")
    assert reason in outcome.reason


def test_rows_in_order_if_the_case_has_one(transport: Transport) -> None:
    responses = [STATUS, STATUS, {"query": rows(["b", 4], ["a", 2])}]
    ordered = case(
        "SELECT * FROM totals;", responses=responses, outputConditions={"verifyOrder": True}
    )

    assert run_case(ordered, transport=transport).status == "fail"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"message": "NOPE", "status": 400}, ""),
        ({"message": "NOPE", "type": "a.b.KsqlStatementErrorMessage"}, ""),
        ({"message": "other"}, "expected the error 'other'"),
        ({"message": "NOPE", "status": 500}, "expected the status 500"),
        ({"message": "NOPE", "type": "a.b.KsqlErrorMessage"}, ""),
    ],
)
def test_an_expected_error_has_message_status_and_type(
    transport: Transport, error: dict[str, Any], reason: str
) -> None:
    failing = case("SELECT nope FROM totals;", expectedError=error)

    outcome = run_case(failing, transport=transport)

    assert outcome.status == ("fail" if reason else "pass"), outcome.reason
    assert reason in outcome.reason


def test_an_error_that_is_missing_or_not_expected_fails(transport: Transport) -> None:
    none = case("SELECT * FROM totals;", expectedError={"message": "x"})
    some = case("SELECT nope FROM totals;", responses=[STATUS, STATUS, {"query": rows()}])

    assert "there was none" in run_case(none, transport=transport).reason
    assert "the server refuses with 400" in run_case(some, transport=transport).reason


def test_rows_are_compared_in_protobuf_as_well(transport: Transport) -> None:
    schema = (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  string ID = 1;\n  int32 TWICE = 2;\n}\n'
    )
    proto = [
        {"header": {"protoSchema": schema}},
        {"row": 'ID: "b"\nTWICE: 4\n'},
        {"row": 'ID: "a"\nTWICE: 2\n'},
    ]
    right = [STATUS, STATUS, {"queryProto": proto}]
    wrong = [STATUS, STATUS, {"queryProto": [*proto[:2], {"row": 'ID: "a"\nTWICE: 3\n'}]}]

    passed = run_case(case("SELECT * FROM totals;", responses=right), transport=transport)
    failed = run_case(case("SELECT * FROM totals;", responses=wrong), transport=transport)

    assert (passed.status, passed.reason) == ("pass", "")
    assert failed.status == "fail"


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"b": None}, True),
        ({"a": "xyz"}, {"a|starts_with": "x"}, True),
        ({"a": "xyz"}, {"a|starts_with": "y"}, False),
        ({}, {"a|starts_with": ""}, False),
        ([1], [1, 2], False),
        (Decimal("1.0"), 1, True),
        (Decimal("1.1"), 1, False),
        (True, 1, False),
        (1, True, False),
        ("SELECT 1;", "{STATEMENT}", True),
        ("SELECT 2;", "{STATEMENT}", False),
        (None, None, True),
        (0, None, False),
    ],
)
def test_values_match_if_they_have_what_is_expected(
    found: object, wanted: object, *, same: bool
) -> None:
    assert matches(found, wanted, "SELECT 1;") == same


def test_a_deleted_row_is_not_a_row_with_nulls() -> None:
    row, deleted = {"row": {"columns": [None]}}, {"row": {"columns": [None], "tombstone": True}}

    ensure_parts([row, deleted], [deleted, row], in_order=False)
    with pytest.raises(Mismatch):
        ensure_parts([row], [deleted], in_order=False)
    with pytest.raises(Mismatch):
        ensure_parts([deleted], [row], in_order=False)


def test_entries_of_a_map_in_protobuf_have_no_order() -> None:
    schema = (
        'syntax = "proto3";\nmessage M {\n  repeated MEntry F = 1;\n'
        "  message MEntry {\n    string key = 1;\n    int32 value = 2;\n  }\n}\n"
    )
    found = [
        {"header": {"protoSchema": schema}},
        {"row": {"protobufBytes": "CgUKAWEQAQoFCgFiEAI="}},
    ]
    entries = ['F {\n  key: "b"\n  value: 2\n}\n', 'F {\n  key: "a"\n  value: 1\n}\n']

    ensure_proto_parts(found, [{"header": {}}, {"row": "".join(entries)}])
    with pytest.raises(Mismatch):
        ensure_proto_parts(found, [{"header": {}}, {"row": entries[0]}])

"""Rows of /query and /query-stream: their forms, their ends, and /close-query."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal

import pytest
from sqlglot import exp

from duolog.core.errors import QueryError
from duolog.runtime.sql.answers import DeletedRow, Rows
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.security.identity.principal import Identity, Principal
from duolog.server.access.checks import Checks
from duolog.server.access.client import Client
from duolog.server.access.guarded_session import GuardedSession
from duolog.server.errors import SHUT_DOWN, RequestRefused
from duolog.server.ksql.endpoints import Endpoints
from duolog.server.ksql.entities import ServerFacts
from unit.server.ksql.sessions import Catalog, OneRow, Session, answer
from waiting import DEADLINE_S

STREAM = "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
TABLE = "CREATE TABLE t (id STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
COLUMNS = (("ID", "STRING"), ("N", "INTEGER"))
TWO_ROWS = [("a", 1), ("b", None)]
STREAMED = "application/vnd.ksqlapi.delimited.v1"


def body(sql: str) -> bytes:
    return json.dumps({"ksql": sql, "streamsProperties": {}}).encode()


def stream_body(sql: str) -> bytes:
    return json.dumps({"sql": sql}).encode()


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    assert made.endpoints().ksql(body(STREAM + TABLE)).status == 200
    return made


def test_query_returns_a_header_then_rows_of_a_table(catalog: Catalog) -> None:
    catalog.answers.append(answer(COLUMNS, TWO_ROWS, query_id="query_7"))

    reply = catalog.endpoints().query(body("SELECT * FROM t;"))

    assert (reply.status, reply.content_type) == (200, "application/vnd.ksql.v1+json")
    assert reply.body == (
        b'[{"header":{"queryId":"query_7","schema":"`ID` STRING KEY, `N` INTEGER"}},\n'
        b'{"row":{"columns":["a",1]}},\n'
        b'{"row":{"columns":["b",null]}}]\n'
    )


def test_a_terminated_service_is_reported_before_a_command_is_waited_for() -> None:
    """Its command topic is gone."""

    def ended(*_: object) -> GuardedSession:
        raise RequestRefused("The server is shut down", SHUT_DOWN)

    def wait_for(_number: int) -> bool:
        raise AssertionError("the command topic is read")

    facts = ServerFacts("127.0.0.1:8088", lambda: 0, dict)
    endpoints = Endpoints.of(ended, facts, wait_for)

    reply = endpoints.query(b'{"ksql": "SELECT * FROM t;", "commandSequenceNumber": 7}')

    assert (reply.status, json.loads(reply.body)["error_code"]) == (503, 50304)


def test_a_query_that_is_nested_too_deeply_is_an_error_of_its_text(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def select(_session: Session, _node: exp.Query, _text: str) -> Rows:
        raise RecursionError

    monkeypatch.setattr(Session, "select", select)

    reply = catalog.endpoints().query(body("SELECT n + n FROM s EMIT CHANGES;"))

    assert reply.status == 400
    refused = json.loads(reply.body)
    assert refused["message"].startswith("the statement is nested too deeply")
    assert refused["statementText"] == "SELECT n + n FROM s EMIT CHANGES;"


def test_a_query_of_a_stream_reports_its_end(catalog: Catalog) -> None:
    catalog.answers.append(answer(COLUMNS, TWO_ROWS, query_id="query_7"))

    reply = catalog.endpoints().query(body("SELECT * FROM s;"))

    assert reply.body == (
        b'[{"header":{"queryId":"query_7","schema":"`ID` STRING, `N` INTEGER"}},\n'
        b'{"row":{"columns":["a",1]}},\n'
        b'{"row":{"columns":["b",null]}},\n'
        b'{"finalMessage":"Query Completed"}]\n'
    )


@pytest.mark.parametrize(
    ("sql", "columns", "schema"),
    [
        ("SELECT * FROM h;", "ID T N", "`ID` STRING KEY, `T` STRING HEADER('t'), `N` STRING"),
        ("SELECT * FROM h;", "ID N T", "`ID` STRING KEY, `T` STRING HEADER('t'), `N` STRING"),
        ("SELECT id, n, t FROM h;", "ID N T", "`ID` STRING KEY, `N` STRING, `T` STRING"),
        ("SELECT id AS x, n FROM h;", "X N", "`X` STRING, `N` STRING"),
        ("SELECT * FROM w;", "ID WINDOWSTART", "`ID` STRING KEY, `WINDOWSTART` STRING KEY"),
    ],
)
def test_the_schema_of_a_table_marks_keys_and_headers(
    catalog: Catalog, sql: str, columns: str, schema: str
) -> None:
    declared = (
        "CREATE SOURCE TABLE h (id STRING PRIMARY KEY, n INT, t BYTES HEADER('t')) "
        "WITH (KAFKA_TOPIC='h', VALUE_FORMAT='JSON');"
        "CREATE TABLE w (id STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='w', "
        "VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');"
    )
    assert catalog.endpoints().ksql(body(declared)).status == 200
    catalog.answers.append(answer([(name, "STRING") for name in columns.split()], []))

    (header,) = json.loads(catalog.endpoints().query(body(sql)).body)

    assert header["header"]["schema"] == schema


@pytest.mark.parametrize(
    ("sql", "rows", "message"),
    [
        ("SELECT * FROM s LIMIT 2;", TWO_ROWS, "Limit Reached"),
        ("SELECT * FROM s LIMIT 3;", TWO_ROWS, "Query Completed"),
        ("SELECT * FROM s LIMIT 0;", [], "Limit Reached"),
        ("SELECT * FROM t EMIT CHANGES LIMIT 2;", TWO_ROWS, "Limit Reached"),
    ],
)
def test_the_final_message_tells_a_limit_from_the_end(
    catalog: Catalog, sql: str, rows: list[tuple[object, ...]], message: str
) -> None:
    pushed = "EMIT" in sql
    catalog.answers.append(answer(COLUMNS, rows, query_id="q", unbounded=pushed))

    parts = json.loads(catalog.endpoints().query(body(sql)).body)

    assert parts[-1] == {"finalMessage": message}


def test_push_queries_have_no_keys_in_their_schema_and_report_deletions(catalog: Catalog) -> None:
    rows = [("a", 1), DeletedRow(("a", None))]
    catalog.answers.append(answer(COLUMNS, rows, query_id="transient_T_1", unbounded=True))

    parts = json.loads(catalog.endpoints().query(body("SELECT * FROM t EMIT CHANGES;")).body)

    assert parts[0]["header"] == {"queryId": "transient_T_1", "schema": "`ID` STRING, `N` INTEGER"}
    assert parts[1:3] == [
        {"row": {"columns": ["a", 1]}},
        {"row": {"columns": ["a", None], "tombstone": True}},
    ]


def test_each_line_of_a_push_query_is_complete_when_it_is_sent(catalog: Catalog) -> None:
    source = OneRow()
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    reply = catalog.endpoints().query(body("SELECT * FROM s EMIT CHANGES;"))

    lines = [reply.next_batch(), reply.next_batch()]
    reply.close()

    assert lines == [
        b'[{"header":{"queryId":"q","schema":"`ID` STRING, `N` INTEGER"}},\n',
        b'{"row":{"columns":["a",1]}},\n',
    ]


def test_pull_queries_get_ids_that_are_never_equal(catalog: Catalog) -> None:
    endpoints = catalog.endpoints()
    found = set()
    for _ in range(50):
        catalog.answers.append(answer(COLUMNS, []))
        found.add(
            json.loads(endpoints.query(body("SELECT * FROM t;")).body)[0]["header"]["queryId"]
        )

    assert len(found) == 50
    assert all(one.startswith("query_") for one in found)


def test_query_stream_is_delimited_by_lines(catalog: Catalog) -> None:
    catalog.answers.append(answer(COLUMNS, TWO_ROWS, query_id="q"))

    reply = catalog.endpoints().query_stream(stream_body("SELECT * FROM s;"))

    assert reply.content_type == STREAMED
    assert reply.body == (
        b'{"queryId":"q","columnNames":["ID","N"],"columnTypes":["STRING","INTEGER"]}\n'
        b'["a",1]\n["b",null]\n'
    )


def test_query_stream_may_be_an_array(catalog: Catalog) -> None:
    catalog.answers.append(answer(COLUMNS, TWO_ROWS, query_id="q"))

    reply = catalog.endpoints().query_stream(stream_body("SELECT * FROM s;"), "application/json")

    assert reply.content_type == "application/json"
    assert json.loads(reply.body) == [
        {"queryId": "q", "columnNames": ["ID", "N"], "columnTypes": ["STRING", "INTEGER"]},
        ["a", 1],
        ["b", None],
    ]


@pytest.mark.parametrize(
    ("endpoint", "accept", "wanted"),
    [
        ("query", "", "application/vnd.ksql.v1+json"),
        ("query", "application/json", "application/vnd.ksql.v1+json"),
        ("query", STREAMED, STREAMED),
        ("query", f"{STREAMED};q=0", "application/vnd.ksql.v1+json"),
        ("query", f"application/json, {STREAMED}", "application/vnd.ksql.v1+json"),
        ("query", f"application/json;q=0.5, {STREAMED}", STREAMED),
        ("query", f"*/*;q=0.1, {STREAMED};Q=0.2", STREAMED),
        ("query", "application/vnd.ksql.v2+json", "application/vnd.ksql.v1+json"),
        ("query", "text/html, application/*;q=0.9", "application/vnd.ksql.v1+json"),
        ("query", "application/vnd.ksql.v1+protobuf", "application/vnd.ksql.v1+protobuf"),
        ("query_stream", "*/*", STREAMED),
        ("query_stream", "application/*, application/json;q=0.9", STREAMED),
        ("query_stream", "application/json;q=nan, */*;q=0.5", "application/json"),
        ("query_stream", "text/html", STREAMED),
        ("query_stream", f"application/json;q=0.5, {STREAMED}", STREAMED),
        ("query_stream", f"{STREAMED};q=0, application/json", "application/json"),
        ("query_stream", "application/vnd.ksql.v1+json", "application/vnd.ksql.v1+json"),
    ],
)
def test_the_accepted_content_type_chooses_the_form(
    catalog: Catalog, endpoint: str, accept: str, wanted: str
) -> None:
    catalog.answers.append(answer(COLUMNS, []))
    make = stream_body if endpoint == "query_stream" else body

    reply = getattr(catalog.endpoints(), endpoint)(make("SELECT * FROM s;"), accept)

    assert reply.content_type == wanted


def test_rows_in_protobuf_have_the_schema_in_the_header(catalog: Catalog) -> None:
    catalog.answers.append(answer(COLUMNS, TWO_ROWS, query_id="q"))

    reply = catalog.endpoints().query(body("SELECT * FROM t;"), "application/vnd.ksql.v1+protobuf")

    header, first, second = json.loads(reply.body)
    assert header["header"]["protoSchema"] == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  string ID = 1;\n  int32 N = 2;\n}\n'
    )
    assert first == {"row": {"protobufBytes": "CgFhEAE="}}
    assert second == {"row": {"protobufBytes": "CgFi"}}


def test_columns_that_protobuf_cannot_have_are_refused(catalog: Catalog) -> None:
    closed: list[str] = []
    rows = Rows((("A", "ARRAY<ARRAY<INTEGER>>"),), _closing(closed))
    next(rows.rows)
    catalog.answers.append(rows)

    reply = catalog.endpoints().query(body("SELECT * FROM t;"), "application/vnd.ksql.v1+protobuf")

    assert reply.status == 400
    assert "cannot be written in Protobuf" in json.loads(reply.body)["message"]
    assert closed == ["closed"]


@pytest.mark.parametrize(
    ("of", "value", "wanted"),
    [
        ("DECIMAL(4, 2)", Decimal("1.50"), "1.50"),
        ("DECIMAL(20, 0)", Decimal("1E+2"), "100"),
        ("BYTES", b"\x00\xff", '"AP8="'),
        ("DATE", dt.date(1970, 1, 2), '"1970-01-02"'),
        ("TIME", 36_930_000, '"10:15:30"'),
        ("TIMESTAMP", dt.datetime(1970, 1, 1, tzinfo=dt.UTC), '"1970-01-01T00:00:00.000"'),
        ("DOUBLE", 1.5e7, "1.5E7"),
        ("DOUBLE", float("nan"), '"NaN"'),
        ("DOUBLE", 2.0, "2.0"),
        ("BOOLEAN", True, "true"),
        ("BIGINT", 2**62, str(2**62)),
        ("STRING", 'é"\n', '"é\\"\\n"'),
        ("ARRAY<DECIMAL(3, 1)>", [Decimal("0.5"), None], "[0.5,null]"),
        ("MAP<STRING, DATE>", {"k": dt.date(2020, 1, 1)}, '{"k":"2020-01-01"}'),
        ("STRUCT<`A` INTEGER, `B` BYTES>", {"A": 1, "B": b"b"}, '{"A":1,"B":"Yg=="}'),
        ("STRUCT<`A` INTEGER, `B` BYTES>", {"B": b"b"}, '{"A":null,"B":"Yg=="}'),
        ("STRING", None, "null"),
    ],
)
def test_values_are_written_as_ksqldb_writes_them(
    catalog: Catalog, of: str, value: object, wanted: str
) -> None:
    catalog.answers.append(answer([("V", of)], [(value,)]))

    reply = catalog.endpoints().query_stream(stream_body("SELECT * FROM s;"))

    assert reply.body.decode().splitlines()[1] == f"[{wanted}]"


def test_an_error_after_the_header_ends_the_response(catalog: Catalog) -> None:
    for _ in range(2):
        catalog.answers.append(Rows(COLUMNS, _failing(), unbounded=True, query_id="q"))
    endpoints = catalog.endpoints()

    objects = json.loads(endpoints.query(body("SELECT * FROM s EMIT CHANGES;")).body)
    lines = endpoints.query_stream(stream_body("SELECT * FROM s EMIT CHANGES;")).body.splitlines()

    failed = {"@type": "generic_error", "error_code": 50000, "message": "the topic is gone"}
    assert objects[1:] == [{"row": {"columns": ["a", 1]}}, {"errorMessage": failed}]
    assert json.loads(lines[-1]) == failed
    assert endpoints.running.ids() == []


def test_close_query_ends_the_rows_of_another_request(catalog: Catalog) -> None:
    source = OneRow()
    rows = Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="transient_S_1")
    catalog.answers.append(rows)
    endpoints = catalog.endpoints()
    reply = endpoints.query_stream(stream_body("SELECT * FROM s EMIT CHANGES;"))
    first_batches = [reply.next_batch(), reply.next_batch()]

    first = endpoints.close_query(b'{"queryId": "transient_S_1"}')
    again = endpoints.close_query(b'{"queryId": "transient_S_1"}')

    assert reply.query_id == "transient_S_1"
    assert first_batches[1] == b'["a",1]\n'
    assert (first.status, first.body) == (200, b"")
    assert reply.next_batch() == b""
    assert source.closed.wait(DEADLINE_S)
    assert again.status == 400
    assert json.loads(again.body)["message"] == "No query with id transient_S_1"


def test_a_query_is_closed_by_its_own_client_only(catalog: Catalog) -> None:
    ann, bob = (Checks(Client(Identity(Principal("User", name), "")), None) for name in ("a", "b"))
    source = OneRow()
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    endpoints = catalog.endpoints()
    reply = endpoints.query(body("SELECT * FROM s EMIT CHANGES;"), "", ann)

    refused = endpoints.close_query(b'{"queryId": "q"}', bob)
    assert refused.status == 400
    assert json.loads(refused.body)["message"] == "No query with id q"
    assert not source.closed.is_set()

    assert endpoints.close_query(b'{"queryId": "q"}', ann).status == 200
    assert source.closed.wait(DEADLINE_S)
    reply.close()


def test_a_client_that_goes_stops_its_query(catalog: Catalog) -> None:
    closed: list[str] = []
    catalog.answers.append(Rows(COLUMNS, _closing(closed), unbounded=True, query_id="q"))
    endpoints = catalog.endpoints()
    reply = endpoints.query(body("SELECT * FROM s EMIT CHANGES;"))
    reply.next_batch()
    reply.next_batch()

    reply.close()

    assert closed == ["closed"]
    assert endpoints.running.ids() == []


def test_a_client_that_goes_before_the_first_byte_stops_its_query(catalog: Catalog) -> None:
    closed: list[str] = []
    rows = _closing(closed)
    next(rows)
    catalog.answers.append(Rows(COLUMNS, rows, unbounded=True, query_id="q"))
    endpoints = catalog.endpoints()
    reply = endpoints.query(body("SELECT * FROM s EMIT CHANGES;"))

    reply.close()

    assert closed == ["closed"]
    assert endpoints.running.ids() == []


def test_only_one_query_per_request(catalog: Catalog) -> None:
    endpoints = catalog.endpoints()

    two = json.loads(endpoints.query(body("SELECT * FROM s; SELECT * FROM s;")).body)
    listing = json.loads(endpoints.query(body("SHOW STREAMS;")).body)

    assert two["error_code"] == 40000
    assert two["message"] == "Expected exactly one KSQL statement; found 2 instead"
    assert listing["message"] == "Statement type `Show' not supported for this resource"
    assert catalog.selected == []


def test_an_invalid_query_is_an_error_of_its_statement(catalog: Catalog) -> None:
    reply = catalog.endpoints().query(body("SELECT * FORM s;"))

    found = json.loads(reply.body)
    assert (reply.status, found["@type"], found["error_code"]) == (400, "statement_error", 40001)
    assert found["statementText"] == "SELECT * FORM s;"


def test_either_endpoint_accepts_the_properties_of_its_request(catalog: Catalog) -> None:
    endpoints = catalog.endpoints()
    given = b'{"sql": "SELECT * FROM s;", "properties": {"auto.offset.reset": "latest"}}'
    mixed = given.replace(b"properties", b"streamsProperties")
    catalog.answers += [answer(COLUMNS, []) for _ in range(3)]

    assert endpoints.query_stream(given).status == 200
    assert endpoints.query(given).status == 200
    assert endpoints.query(mixed).status == 200

    assert [used["auto.offset.reset"] for _, used in catalog.selected] == ["latest"] * 3


def test_print_returns_lines_with_the_formats_first(catalog: Catalog) -> None:
    names = ("rowtime", "key", "value", "partition", "key format", "value format")
    rows: list[tuple[object, ...]] = [
        ("2026/01/02 00:00:00.000 Z", "a", "1", 0, "KAFKA_STRING", "JSON"),
        ("2026/01/02 00:00:00.001 Z", "b", "2", 1, "KAFKA_STRING", "JSON"),
    ]
    catalog.answers.append(answer([(name, "STRING") for name in names], rows, unbounded=True))

    reply = catalog.endpoints().query(body("PRINT 's' FROM BEGINNING;"))

    assert reply.body.decode().splitlines() == [
        "Key format: KAFKA_STRING",
        "Value format: JSON",
        "rowtime: 2026/01/02 00:00:00.000 Z, key: a, value: 1, partition: 0",
        "rowtime: 2026/01/02 00:00:00.001 Z, key: b, value: 2, partition: 1",
    ]


def test_print_ends_with_the_server_and_by_no_client(catalog: Catalog) -> None:
    source = OneRow()
    source.rows.clear()
    catalog.answers.append(Rows((), PushedRows(source), unbounded=True))
    endpoints = catalog.endpoints()
    reply = endpoints.query(body("PRINT 's';"))
    (query_id,) = endpoints.running.ids()
    refused = endpoints.close_query(json.dumps({"queryId": query_id}).encode())

    endpoints.running.interrupt_all()

    assert refused.status == 400
    assert reply.next_batch() == b"The server is shutting down\n"
    assert reply.next_batch() == b""
    assert source.closed.is_set()
    assert endpoints.running.ids() == []


def test_print_reports_the_error_that_ends_it(catalog: Catalog) -> None:
    catalog.answers.append(Rows((), (_gone() for _ in range(1)), unbounded=True))

    reply = catalog.endpoints().query(body("PRINT 's';"))

    assert reply.body == b"the topic is gone\n"


def _gone() -> tuple[object, ...]:
    raise QueryError("the topic is gone")


def _failing() -> Iterator[tuple[object, ...]]:
    yield ("a", 1)
    raise QueryError("the topic is gone")


def _closing(closed: list[str]) -> Iterator[tuple[object, ...]]:
    try:
        while True:
            yield ("a", 1)
    finally:
        closed.append("closed")

"""Requests of /ksql: their entities, their errors, and their order."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlglot import exp

from duolog.core.errors import DuologError, KafkaError
from duolog.ksql.session import Done
from duolog.runtime.errors import BrokerUnavailable
from unit.server.ksql.sessions import Catalog, Session
from waiting import DEADLINE_S

STREAM = (
    "CREATE STREAM orders (id STRING KEY, item STRING, price DECIMAL(6, 2)) "
    "WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);"
)
TABLE = "CREATE TABLE totals AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;"


def run(catalog: Catalog, sql: str, **more: object) -> tuple[int, Any]:
    reply = catalog.endpoints().ksql(json.dumps({"ksql": sql, **more}).encode())
    return reply.status, json.loads(reply.body)


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    assert run(made, STREAM + TABLE)[0] == 200
    return made


def test_create_stream_reports_the_status_of_its_command() -> None:
    reply = Catalog().endpoints().ksql(json.dumps({"ksql": STREAM}).encode())

    assert reply.content_type == "application/vnd.ksql.v1+json"
    assert reply.body.decode() == (
        '[{"@type":"currentStatus","statementText":' + json.dumps(STREAM) + ","
        '"commandId":"stream/`ORDERS`/create",'
        '"commandStatus":{"status":"SUCCESS","message":"Stream created","queryId":null},'
        '"commandSequenceNumber":1,"warnings":[]}]'
    )


@pytest.mark.parametrize(
    ("sql", "command", "message", "query"),
    [
        (
            "CREATE STREAM s AS SELECT * FROM orders;",
            "stream/`S`/create",
            "Created query with ID CSAS_S_0",
            "CSAS_S_0",
        ),
        (
            "CREATE STREAM `s` (a INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');",
            "stream/`s`/create",
            "Stream created",
            None,
        ),
        (
            "CREATE TABLE u (a INT PRIMARY KEY) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');",
            "table/`U`/create",
            "Table created",
            None,
        ),
        (
            "DROP TABLE totals;",
            "table/`TOTALS`/drop",
            "Source `TOTALS` (topic: TOTALS) was dropped.",
            None,
        ),
        (
            "CREATE TYPE code AS STRING;",
            "type/CODE/create",
            "Registered custom type with name 'CODE' and SQL type STRING",
            None,
        ),
        ("TERMINATE CTAS_TOTALS_0;", "terminate/CTAS_TOTALS_0/execute", "Query terminated.", None),
        ("PAUSE CTAS_TOTALS_0;", "pause/CTAS_TOTALS_0/execute", "Query paused.", None),
        (
            "ALTER STREAM orders ADD COLUMN n INT;",
            "stream/`ORDERS`/alter",
            "Stream ORDERS altered successfully",
            None,
        ),
    ],
)
def test_commands_report_id_message_and_query(
    sql: str, command: str, message: str, query: str | None
) -> None:
    catalog = Catalog()
    run(catalog, STREAM + TABLE if "TOTALS" in sql.upper() else STREAM)

    status, found = run(catalog, sql)

    assert status == 200, found
    (entity,) = found
    assert entity["commandId"] == command
    assert entity["commandStatus"]["message"] == message
    assert entity["commandStatus"]["queryId"] == query


def test_the_status_of_a_command_can_be_read_later(catalog: Catalog) -> None:
    endpoints = catalog.endpoints()
    endpoints.ksql(json.dumps({"ksql": "CREATE TYPE code AS STRING;"}).encode())
    statuses = endpoints.statements.statuses

    assert statuses.of("type/CODE/create") == {
        "status": "SUCCESS",
        "message": "Registered custom type with name 'CODE' and SQL type STRING",
        "queryId": None,
    }
    assert statuses.all() == {"type/CODE/create": "SUCCESS"}
    assert statuses.of("type/OTHER/create") is None


def test_only_the_last_thousand_statuses_are_kept() -> None:
    endpoints = Catalog().endpoints()
    for number in range(1001):
        status = {"status": "SUCCESS", "message": "", "queryId": None}
        endpoints.statements.statuses.keep(
            {"commandId": f"type/T{number}/create", "commandStatus": status}
        )

    assert endpoints.statements.statuses.of("type/T0/create") is None
    assert len(endpoints.statements.statuses.all()) == 1000


def test_if_not_exists_is_a_warning_when_it_leaves_the_stream(catalog: Catalog) -> None:
    sql = STREAM.replace("STREAM ", "STREAM IF NOT EXISTS ")

    assert run(catalog, sql) == (
        200,
        [
            {
                "@type": "warning_entity",
                "statementText": sql,
                "message": "Cannot add stream `ORDERS`: A stream with the same name already exists.",
                "warnings": [],
            }
        ],
    )


def test_statements_about_the_session_and_rows_have_no_entity(catalog: Catalog) -> None:
    sql = (
        "SET 'auto.offset.reset' = 'latest'; UNSET 'auto.offset.reset'; DEFINE a = 'x'; "
        "UNDEFINE a; INSERT INTO orders (id, item) VALUES ('a', 'b');"
    )

    assert run(catalog, sql) == (200, [])


def test_settings_and_variables_last_for_their_request_only(catalog: Catalog) -> None:
    _, found = run(
        catalog,
        "DEFINE kind = 'book'; SHOW VARIABLES; SHOW PROPERTIES;",
        streamsProperties={"ksql.streams.auto.offset.reset": "latest"},
        sessionVariables={"who": "me"},
    )
    _, later = run(catalog, "SHOW VARIABLES;")

    variables, properties = found
    assert variables["variables"] == [
        {"name": "KIND", "value": "book"},
        {"name": "WHO", "value": "me"},
    ]
    values = {one["name"]: one["value"] for one in properties["properties"]}
    assert values["auto.offset.reset"] == "latest"
    assert "auto.offset.reset" in properties["overwrittenProperties"]
    assert later[0]["variables"] == []


def test_variables_are_substituted_in_later_statements(catalog: Catalog) -> None:
    status, found = run(
        catalog, "DEFINE t = 'code'; CREATE TYPE ${t} AS ${of};", sessionVariables={"OF": "INT"}
    )

    assert status == 200
    assert found[0]["commandId"] == "type/CODE/create"
    assert found[0]["statementText"] == "CREATE TYPE code AS INT;"


def test_the_value_of_a_variable_adds_no_statement(catalog: Catalog) -> None:
    before = list(catalog.performed)
    variables = {"name": "orders; CREATE TYPE code AS INT"}

    status, found = run(catalog, "DESCRIBE ${name};", sessionVariables=variables)

    assert (status, found["error_code"]) == (400, 40001)
    assert found["statementText"] == "DESCRIBE ${name};"
    assert catalog.performed == before


def test_no_statement_runs_if_a_later_one_is_invalid(catalog: Catalog) -> None:
    before = list(catalog.performed)

    status, found = run(catalog, "CREATE TYPE code AS STRING; DROP STREAM nothing;")

    assert status == 400
    assert found["@type"] == "statement_error"
    assert found["error_code"] == 40001
    assert found["message"].startswith("Source NOTHING does not exist.")
    assert found["statementText"] == "DROP STREAM nothing;"
    assert found["entities"] == []
    assert catalog.performed == before
    assert "CODE" not in catalog.state.catalog.types


def test_later_statements_see_what_earlier_ones_will_create() -> None:
    status, found = run(Catalog(), STREAM + TABLE)

    assert status == 200
    assert [one["commandId"] for one in found] == [
        "stream/`ORDERS`/create",
        "table/`TOTALS`/create",
    ]


def test_an_error_while_running_has_the_entities_before_it(catalog: Catalog) -> None:
    catalog.failing = "CREATE TYPE b"

    status, found = run(catalog, "CREATE TYPE a AS INT; CREATE TYPE b AS INT;")

    assert status == 400
    assert [one["commandId"] for one in found["entities"]] == ["type/A/create"]
    assert found["statementText"] == "CREATE TYPE b AS INT;"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError("the topic is refused", code=38), 50000),
        (BrokerUnavailable("no broker answers"), 50302),
    ],
)
def test_an_error_of_the_broker_has_the_entities_before_it(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, error: DuologError, code: int
) -> None:
    perform = Session.perform

    def failing(session: Session, node: exp.Expression, text: str) -> Done:
        if text.startswith("CREATE TYPE b"):
            raise error
        return perform(session, node, text)

    monkeypatch.setattr(Session, "perform", failing)

    status, found = run(catalog, "CREATE TYPE a AS INT; CREATE TYPE b AS INT;")

    assert (status, found["error_code"]) == (code // 100, code)
    assert found["@type"] == "statement_error"
    assert [one["commandId"] for one in found["entities"]] == ["type/A/create"]
    assert found["statementText"] == "CREATE TYPE b AS INT;"


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM orders;", "SELECT * FROM orders EMIT CHANGES;", "PRINT 'orders';"]
)
def test_queries_are_sent_to_another_endpoint(catalog: Catalog, sql: str) -> None:
    assert run(catalog, f"CREATE TYPE code AS INT; {sql}") == (
        400,
        {
            "@type": "statement_error",
            "error_code": 40002,
            "message": "SELECT and PRINT queries must use the /query endpoint",
            "statementText": sql,
            "entities": [],
        },
    )
    assert "CODE" not in catalog.state.catalog.types


def test_a_syntax_error_has_the_statement(catalog: Catalog) -> None:
    status, found = run(catalog, "CREATE STREEM x;")

    assert (status, found["error_code"]) == (400, 40001)
    assert found["message"].startswith("line 1:8: Syntax Error")
    assert found["statementText"] == "CREATE STREEM x;"


def test_a_failed_assertion_has_a_code_of_its_own(catalog: Catalog) -> None:
    catalog.state.catalog.partitions["orders"] = 2

    assert run(catalog, "ASSERT TOPIC other;") == (
        417,
        {
            "@type": "generic_error",
            "error_code": 41700,
            "message": "Topic other does not exist.",
        },
    )
    assert run(catalog, "ASSERT TOPIC orders; ASSERT NOT EXISTS TOPIC other;")[1] == [
        {
            "@type": "assert_topic",
            "statementText": "ASSERT TOPIC orders;",
            "topicName": "orders",
            "exists": True,
            "warnings": [],
        },
        {
            "@type": "assert_topic",
            "statementText": "ASSERT NOT EXISTS TOPIC other;",
            "topicName": "other",
            "exists": False,
            "warnings": [],
        },
    ]


def test_assertions_that_wait_leave_threads_to_other_statements(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform, may_end = Session.perform, threading.Event()
    waiting = threading.Semaphore(0)

    def slow(session: Session, node: exp.Expression, text: str) -> Done:
        if text.startswith("ASSERT"):
            waiting.release()
            assert may_end.wait(DEADLINE_S)
        return perform(session, node, text)

    monkeypatch.setattr(Session, "perform", slow)
    endpoints = catalog.endpoints()
    text = b'{"ksql": "ASSERT NOT EXISTS TOPIC never TIMEOUT 100 DAYS;"}'
    with ThreadPoolExecutor(4) as threads:
        held = [threads.submit(endpoints.ksql, text) for _ in range(4)]
        assert all(waiting.acquire(timeout=DEADLINE_S) for _ in held)

        refused = endpoints.ksql(text)
        other = endpoints.ksql(b'{"ksql": "SHOW TYPES;"}')
        may_end.set()

    assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50300)
    assert other.status == 200
    assert [one.result().status for one in held] == [200] * 4
    assert endpoints.ksql(text).status == 200


def test_an_assertion_sees_the_topic_of_an_earlier_statement() -> None:
    status, found = run(Catalog(), f"{STREAM} ASSERT TOPIC orders;")

    assert status == 200
    assert [one["@type"] for one in found] == ["currentStatus", "assert_topic"]


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW CONNECTORS;",
        "LIST SOURCE CONNECTORS;",
        "SHOW CONNECTOR PLUGINS;",
        "DESCRIBE CONNECTOR c;",
        "DROP CONNECTOR IF EXISTS c;",
        "CREATE SINK CONNECTOR IF NOT EXISTS c WITH ('connector.class'='x.Y');",
        "CREATE SOURCE CONNECTOR c WITH ('connector.class'='x.Y', 'tasks.max'='1');",
    ],
)
def test_connectors_are_refused_as_by_ksqldb_without_a_connect_cluster(
    catalog: Catalog, sql: str
) -> None:
    before = list(catalog.performed)

    status, found = run(catalog, f"CREATE TYPE code AS INT; {sql}")

    assert status == 500
    assert (found["@type"], found["error_code"]) == ("statement_error", 50000)
    assert (found["statementText"], found["entities"]) == (sql, [])
    assert found["message"].startswith(
        "no Connect cluster is configured, so there are no connectors\n"
    )
    assert catalog.performed == before


def test_a_request_waits_for_the_command_that_it_names(catalog: Catalog) -> None:
    endpoints = catalog.endpoints(known_to=7)

    known = endpoints.ksql(b'{"ksql": "SHOW TYPES;", "commandSequenceNumber": 7}')
    late = endpoints.ksql(b'{"ksql": "SHOW TYPES;", "commandSequenceNumber": 8}')

    assert known.status == 200
    assert (late.status, json.loads(late.body)["error_code"]) == (503, 50301)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "Invalid JSON in request"),
        (b"[]", "expected an object"),
        (b"{}", "'ksql'"),
        (b'{"ksql": 1}', "'ksql' must be a string"),
        (b'{"ksql": "", "streamsProperties": {"a": [1]}}', "'a' must be a string"),
        (b'{"ksql": "", "streamsProperties": 1}', "'streamsProperties' must be an object"),
        (b'{"ksql": "", "commandSequenceNumber": "1"}', "commandSequenceNumber"),
        (b'{"ksql": "", "streamsProperties": {"nonsense": "1"}}', "Not recognizable as ksql"),
        (b"\xff", "Invalid JSON in request"),
        (b'{"ksql": "SHOW \\ud800;"}', "Invalid JSON in request"),
        (b'{"ksql": "SHOW \xed\xa0\x80;"}', "Invalid JSON in request"),
        (b'{"ksql": "", "sessionVariables": {"\\uDFFF": "x"}}', "Invalid JSON in request"),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(body: bytes, message: str) -> None:
    reply = Catalog().endpoints().ksql(body)

    found = json.loads(reply.body)
    assert reply.status == 400
    assert found["@type"] == "generic_error"
    assert found["error_code"] == 40000
    assert message in found["message"]


def test_values_of_properties_may_be_numbers_and_booleans(catalog: Catalog) -> None:
    given = {"ksql.query.pull.timeout.ms": 5, "ksql.persistence.wrap.single.values": False}

    _, found = run(catalog, "SHOW PROPERTIES;", streamsProperties=given)

    values = {one["name"]: one["value"] for one in found[0]["properties"]}
    assert values["ksql.query.pull.timeout.ms"] == "5"
    assert values["ksql.persistence.wrap.single.values"] == "false"


def test_characters_may_be_escaped_as_surrogate_pairs(catalog: Catalog) -> None:
    body = b'{"ksql": "DEFINE smile = \'\\ud83d\\ude00\'; SHOW VARIABLES;"}'

    (found,) = json.loads(catalog.endpoints().ksql(body).body)

    assert found["variables"] == [{"name": "SMILE", "value": "\U0001f600"}]


def test_a_broker_that_does_not_answer_is_not_an_error_of_the_server(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sandbox(_session: Session) -> None:
        raise BrokerUnavailable("no broker answers")

    monkeypatch.setattr(Session, "sandbox", sandbox)

    status, found = run(catalog, "SHOW TYPES;")

    assert (status, found["error_code"]) == (503, 50302)


def test_no_statements_have_no_entities() -> None:
    assert run(Catalog(), "") == (200, [])

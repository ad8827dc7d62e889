"""A program with .NET's ksqlDB.RestApi.Client: statements, push and pull queries, listings."""

import json
from collections.abc import Iterator
from typing import Any

from client_checks import EARLIEST, main, name, until
from plain_http import Answer, Http2, by_http1, by_http2, login

OBJECTS = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
STATEMENT = {"accept": OBJECTS, "content-type": f"{OBJECTS}; charset=utf-8"}
QUERY = {"content-type": "application/json; charset=utf-8"}


def statement(text: str) -> Answer:
    body = json.dumps({"ksql": text, "streamsProperties": {}, "sessionVariables": {}})
    lines = by_http1("POST", "/ksql", body.encode(), STATEMENT | login())
    whole = "".join(lines).encode()
    return Answer(200 if whole.startswith(b"[") else 400, whole)


def entity(text: str) -> dict[str, Any]:
    answer = statement(text)
    assert answer.status == 200, answer
    (found,) = answer.json
    assert found["statementText"]
    return dict(found)


def stream(what: str) -> str:
    made = name(what).upper()
    columns = "Title VARCHAR, Id INT KEY, Release_Year INT, Lead STRUCT<Name VARCHAR, Age INT>"
    options = f"KAFKA_TOPIC='{made}', VALUE_FORMAT='Json', PARTITIONS='1', REPLICAS='1'"
    created = entity(f"CREATE STREAM {made} ({columns}) WITH ( {options} );")
    assert created["commandStatus"]["status"] == "SUCCESS"
    assert created["commandSequenceNumber"] >= 0
    return made


def insert(target: str, number: int) -> None:
    values = f"'Aliens', {number}, 1986, STRUCT(Name := 'Ripley', Age := 37)"
    text = f"INSERT INTO {target} (Title, Id, Release_Year, Lead) VALUES ({values});"
    assert statement(text).json == []


def push(client: Http2, text: str) -> Iterator[str]:
    """Run a query over HTTP/2; yield its lines. It reads those of an error as it reads rows."""
    body = json.dumps({"sql": text, "properties": EARLIEST}).encode()
    return client.lines("/query-stream", body, QUERY | {"accept": DELIMITED} | login())


def older(text: str) -> Iterator[str]:
    """Run a query over HTTP/1.1; yield its lines."""
    body = json.dumps({"ksql": text, "streamsProperties": EARLIEST}).encode()
    return by_http1("POST", "/query", body, QUERY | {"accept": OBJECTS} | login())


def statements_and_inserts() -> None:
    made = stream("MOVIES")
    insert(made, 1)
    dropped = entity(f"DROP STREAM {made} DELETE TOPIC;")
    assert dropped["commandStatus"]["status"] == "SUCCESS"


def a_push_query_over_http2() -> None:
    made = stream("PUSHED")
    for number in range(3):
        insert(made, number)
    with Http2() as client:
        lines = push(client, f"SELECT Title, Id, Lead FROM {made} EMIT CHANGES LIMIT 3;")
        header = next(lines)
        assert header.startswith('{"queryId"')
        found = json.loads(header)
        assert found["columnNames"] == ["TITLE", "ID", "LEAD"]
        assert found["columnTypes"][:2] == ["STRING", "INTEGER"]
        rows = [json.loads(line) for line in lines]
    assert rows == [["Aliens", number, {"NAME": "Ripley", "AGE": 37}] for number in range(3)]


def a_push_query_is_closed_by_its_id() -> None:
    made = stream("CLOSED")
    insert(made, 1)
    with Http2() as client:
        lines = push(client, f"SELECT Id FROM {made} EMIT CHANGES;")
        query_id = json.loads(next(lines))["queryId"]
        assert json.loads(next(lines)) == [1]
        body = json.dumps({"queryId": query_id}).encode()
        assert by_http2("POST", "/close-query", body, STATEMENT | login()) == Answer(200, b"")
        assert list(lines) == []


def a_push_query_over_http1() -> None:
    made = stream("OLDER")
    for number in range(2):
        insert(made, number)
    lines = older(f"SELECT Title, Id FROM {made} EMIT CHANGES LIMIT 2;")
    header = next(lines)
    assert header.startswith('[{"header"')
    schema = json.loads(header.strip().rstrip(",") + "]")[0]["header"]["schema"]
    assert schema == "`TITLE` STRING, `ID` INTEGER"
    # It reads a line as a row if it begins so, without the comma or bracket at its end.
    rows = [line.strip().rstrip(",") for line in lines if line.startswith('{"row"')]
    found = [json.loads(row) for row in rows]
    assert [one["row"]["columns"] for one in found] == [["Aliens", 0], ["Aliens", 1]]


def a_pull_query_has_a_row_on_each_line() -> None:
    source, made = stream("COUNTED"), name("COUNTS").upper()
    grouped = f"SELECT Title, COUNT(*) AS Count FROM {source} GROUP BY Title EMIT CHANGES"
    created = entity(f"CREATE TABLE {made} AS {grouped};")
    insert(source, 1)

    def pulled() -> list[Any]:
        with Http2() as client:
            header, *rows = push(client, f"SELECT * FROM {made} WHERE Title = 'Aliens';")
            assert header.startswith('{"queryId"')
            return [json.loads(row) for row in rows]

    until(lambda: pulled() == [["Aliens", 1]])
    lines = [*older(f"SELECT * FROM {made} WHERE Title = 'Aliens';")]
    assert lines[0].startswith('[{"header"')
    assert any(line.startswith('{"row":{"columns":["Aliens",1]') for line in lines)
    query_id = created["commandStatus"]["queryId"]
    (query,) = [one for one in entity("SHOW QUERIES;")["queries"] if one["id"] == query_id]
    assert isinstance(query["statusCount"], dict)
    assert (query["queryType"], query["sinks"]) == ("PERSISTENT", [made])
    described = entity(f"EXPLAIN {query_id};")["queryDescription"]
    for member in ("id", "statementText", "fields", "sources", "sinks", "topology"):
        assert member in described, member
    for member in ("executionPlan", "overriddenProperties", "queryType", "queryErrors", "state"):
        assert member in described, member
    assert isinstance(described["tasksMetadata"], list)
    assert entity(f"TERMINATE {query_id};")["commandStatus"]["status"] == "SUCCESS"


def errors_are_known_by_their_first_characters() -> None:
    with Http2() as client:
        (line,) = push(client, "SELECT * FROM MISSING EMIT CHANGES;")
    for text in (line, "".join(older("SELECT * FROM MISSING EMIT CHANGES;"))):
        assert text.startswith(('{"@type":"statement_error"', '{"@type":"generic_error"'))
        assert json.loads(text)["error_code"] == 40001
    refused = statement("DROP STREAM MISSING;").json
    assert (refused["@type"], refused["error_code"]) == ("statement_error", 40001)
    assert refused["statementText"] == "DROP STREAM MISSING;"


def listings() -> None:
    made = stream("LISTED")
    assert made in {one["name"] for one in entity("SHOW STREAMS;")["streams"]}
    assert isinstance(entity("SHOW TABLES;")["tables"], list)
    (topic,) = [one for one in entity("SHOW TOPICS;")["topics"] if one["name"] == made]
    assert topic["replicaInfo"] == [1]
    extended = entity("SHOW ALL TOPICS EXTENDED;")["topics"]
    (topic,) = [one for one in extended if one["name"] == made]
    assert (topic["consumerCount"], topic["consumerGroupCount"]) == (0, 0)


def asserts() -> None:
    made = stream("ASSERTED")
    found = entity(f"ASSERT TOPIC {made} WITH ( replicas=1, partitions=1 ) TIMEOUT 3 SECONDS;")
    assert (found["topicName"], found["exists"]) == (made, True)
    found = entity("ASSERT NOT EXISTS TOPIC missing_topic TIMEOUT 1 SECONDS;")
    assert found["exists"] is False


main(
    [
        statements_and_inserts,
        a_push_query_over_http2,
        a_push_query_is_closed_by_its_id,
        a_push_query_over_http1,
        a_pull_query_has_a_row_on_each_line,
        errors_are_known_by_their_first_characters,
        listings,
        asserts,
    ]
)

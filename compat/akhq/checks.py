"""AKHQ's pages of ksqlDB: server, streams, tables, queries, statements, inserts and SELECT."""

import json
from collections.abc import Mapping
from typing import Any

from client_checks import EARLIEST, main, name, until
from plain_http import Answer, Http2, by_http2, login


def ksql(text: str) -> Answer:
    """Send a statement as the Java client does."""
    body = json.dumps({"ksql": text, "sessionVariables": {}})
    return by_http2("POST", "/ksql", body.encode(), login())


def listed(text: str, member: str) -> list[dict[str, Any]]:
    """Return the list in the only entity of an answer."""
    answer = ksql(text)
    assert answer.status == 200, answer
    (entity,) = answer.json
    found: list[dict[str, Any]] = entity[member]
    return found


def executed(text: str) -> str:
    """Run a statement; return the id of its query, or nothing, as the page shows it."""
    answer = ksql(text)
    assert answer.status == 200, answer
    (entity,) = answer.json
    assert entity["commandId"]
    return entity["commandStatus"]["queryId"] or ""


def select(text: str, properties: Mapping[str, str]) -> tuple[list[str], list[list[Any]]]:
    """Run a query to its end; return the names of its columns, and its rows."""
    body = {"sql": text, "properties": dict(properties), "sessionVariables": {}}
    with Http2() as client:
        lines = [*client.lines("/query-stream", json.dumps(body).encode(), login())]
        assert client.status == 200, lines
    header, *rows = map(json.loads, lines)
    assert {"queryId", "columnNames", "columnTypes"} <= header.keys()
    kinds = {one.partition("(")[0].partition("<")[0] for one in header["columnTypes"]}
    known = {"STRING", "INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "DECIMAL", "BYTES", "ARRAY", "MAP"}
    assert kinds <= known | {"STRUCT", "DATE", "TIME", "TIMESTAMP"}, kinds
    assert all(len(row) == len(header["columnNames"]) for row in rows)
    return header["columnNames"], rows


def insert(target: str, row: Mapping[str, object]) -> Answer:
    body = json.dumps({"target": target}) + "\n" + json.dumps(row)
    return by_http2("POST", "/inserts-stream", body.encode(), login())


def stream(what: str) -> str:
    made = name(what).upper()
    columns = "ORDER_ID BIGINT, PRODUCT_ID VARCHAR, USER_ID VARCHAR"
    options = f"KAFKA_TOPIC='{made.lower()}', PARTITIONS=1, VALUE_FORMAT='json'"
    assert executed(f"CREATE STREAM {made} ({columns}) WITH ({options});") == ""
    return made


def the_server() -> None:
    info = by_http2("GET", "/info", b"", login()).json["KsqlServerInfo"]
    assert info["version"]
    assert info["kafkaClusterId"]
    assert info["ksqlServiceId"] == "default_"


def the_page_of_streams() -> None:
    made = stream("streams")
    (found,) = [one for one in listed("list streams;", "streams") if one["name"] == made]
    assert (found["topic"], found["valueFormat"]) == (made.lower(), "JSON")
    assert isinstance(found["keyFormat"], str)
    assert found["isWindowed"] is False


def the_pages_of_tables_and_queries() -> None:
    source, made = stream("orders"), name("by_user").upper()
    grouped = f"SELECT USER_ID, COUNT(*) AS COUNT FROM {source} GROUP BY USER_ID EMIT CHANGES"
    query_id = executed(f"CREATE TABLE {made} AS {grouped};")
    assert query_id.startswith(f"CTAS_{made}_")
    (table,) = [one for one in listed("list tables;", "tables") if one["name"] == made]
    assert (table["topic"], table["keyFormat"], table["isWindowed"]) == (made, "KAFKA", False)
    (query,) = [one for one in listed("list queries;", "queries") if one["id"] == query_id]
    assert (query["queryType"], query["sinks"], query["sinkKafkaTopics"]) == (
        "PERSISTENT",
        [made],
        [made],
    )
    assert query["queryString"].startswith("CREATE TABLE")
    assert insert(source, {"ORDER_ID": 1, "PRODUCT_ID": "1", "USER_ID": "u"}).status == 200
    until(lambda: select(f"SELECT * FROM {made};", {})[1] == [["u", 1]])
    assert executed(f"DROP TABLE IF EXISTS {made} DELETE TOPIC;") == ""
    assert [one for one in listed("list queries;", "queries") if one["id"] == query_id] == []


def a_row_is_inserted_and_selected() -> None:
    made = stream("inserted")
    row = {"ORDER_ID": 1, "PRODUCT_ID": "1", "USER_ID": "1"}
    assert json.loads(insert(made, row).body) == {"status": "ok", "seq": 0}
    columns, rows = select(f"SELECT * FROM {made} LIMIT 5;", EARLIEST)
    assert columns == ["ORDER_ID", "PRODUCT_ID", "USER_ID"]
    assert rows == [[1, "1", "1"]]


def a_query_without_rows() -> None:
    assert select(f"SELECT * FROM {stream('empty')} LIMIT 5;", EARLIEST)[1] == []


def a_wrong_row_is_reported() -> None:
    error = json.loads(insert(stream("wrong"), {"NONE": 1}).body)
    assert (error["status"], error["seq"]) == ("error", 0)
    assert error["error_code"] >= 40000
    assert error["message"]


def refusals_have_a_code_and_a_message() -> None:
    body = json.dumps({"sql": "SELECT * FROM MISSING;", "properties": {}, "sessionVariables": {}})
    asked = by_http2("POST", "/query-stream", body.encode(), login())
    for answer in (asked, ksql("DROP STREAM MISSING;"), insert("MISSING", {})):
        assert answer.status == 400
        assert answer.json["error_code"] in {40000, 40001}
        assert answer.json["message"]


main(
    [
        the_server,
        the_page_of_streams,
        the_pages_of_tables_and_queries,
        a_row_is_inserted_and_selected,
        a_query_without_rows,
        a_wrong_row_is_reported,
        refusals_have_a_code_and_a_message,
    ]
)

"""A user's program with PyPI's ksqldb: statements over HTTP/1.1, queries and inserts over h2c."""

import asyncio

import requests
from client_checks import EARLIEST, URL, main, name, stream, stream_statement, until
from ksqldb import KSQLdbClient

client = KSQLdbClient(URL)


def get_properties() -> None:
    properties = {one["name"]: one["value"] for one in client.get_properties()}
    assert properties["ksql.service.id"] == "default_"


def ksql_runs_a_statement() -> None:
    made = name("created")
    (entity,) = client.ksql(stream_statement(made, "n INT"))
    assert entity["commandStatus"]["status"] == "SUCCESS"
    streams = client.ksql("LIST STREAMS;")[0]["streams"]
    assert made.upper() in {one["name"] for one in streams}


def ksql_raises_what_the_server_refuses() -> None:
    try:
        client.ksql("CREATE STREAM;")
    except requests.HTTPError as error:
        assert error.response.status_code == 400
        body = error.response.json()
        assert (body["error_code"], body["statementText"]) == (40001, "CREATE STREAM;")
    else:
        raise AssertionError("it was accepted")


def ksql_takes_properties_of_streams() -> None:
    source, made = stream("with_properties"), name("copied")
    client.inserts_stream(source, [{"id": "a", "n": 1}])
    text = f"CREATE STREAM {made} AS SELECT * FROM {source};"
    (entity,) = client.ksql(text, stream_properties=EARLIEST)
    until(lambda: len(client.query_sync(f"SELECT * FROM {made};")) == 2)
    client.ksql(f"TERMINATE {entity['commandStatus']['queryId']};")


def inserts_stream_acknowledges_each_row() -> None:
    made = stream("inserted")
    acks = client.inserts_stream(made, [{"id": f"k{n}", "n": n} for n in range(5)])
    assert acks == [{"status": "ok", "seq": n} for n in range(5)]


def inserts_stream_reports_a_wrong_row() -> None:
    made = stream("wrong")
    acks = client.inserts_stream(made, [{"id": "a", "n": 1}, {"none": 1}])
    assert acks[0] == {"status": "ok", "seq": 0}
    assert (acks[1]["status"], acks[1]["seq"]) == ("error", 1)
    assert acks[1]["error_code"] >= 40000


def query_sync_returns_the_header_and_the_rows() -> None:
    made = stream("asked", "id STRING KEY, n INT, a ARRAY<INT>, s STRUCT<x INT>")
    client.inserts_stream(made, [{"id": "ä", "n": 1, "a": [1, 2], "s": {"X": 3}}])
    header, *rows = client.query_sync(f"SELECT * FROM {made};")
    assert header["columnNames"] == ["ID", "N", "A", "S"]
    assert header["columnTypes"] == ["STRING", "INTEGER", "ARRAY<INTEGER>", "STRUCT<`X` INTEGER>"]
    assert rows == [["ä", 1, [1, 2], {"X": 3}]]


def query_sync_returns_what_is_wrong_with_a_query() -> None:
    (error,) = client.query_sync("SELECT * FROM missing;")
    assert (error["@type"], error["error_code"]) == ("statement_error", 40001)


def query_async_follows_a_stream_until_close_query() -> None:
    made = stream("followed")

    async def follow() -> list[object]:
        seen = []
        query = f"SELECT * FROM {made} EMIT CHANGES;"
        async for one in client.query_async(query, timeout=None):
            seen.append(one)
            if len(seen) == 1:
                acks = await asyncio.to_thread(
                    client.inserts_stream, made, [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
                )
                assert [ack["status"] for ack in acks] == ["ok", "ok"]
            elif len(seen) == 3:
                assert await asyncio.to_thread(client.close_query, seen[0]["queryId"])
        return seen

    seen = asyncio.run(asyncio.wait_for(follow(), 100))
    assert seen[1:] == [["a", 1], ["b", 2]]


def query_async_takes_properties() -> None:
    made = stream("from_the_start")
    client.inserts_stream(made, [{"id": "a", "n": 1}])

    async def first() -> list[object]:
        query = f"SELECT n FROM {made} EMIT CHANGES LIMIT 1;"
        found = client.query_async(query, stream_properties=EARLIEST, timeout=100)
        return [one async for one in found]

    assert asyncio.run(first())[1:] == [[1]]


def close_query_of_an_unknown_query() -> None:
    assert client.close_query("unknown") is False


main(
    [
        get_properties,
        ksql_runs_a_statement,
        ksql_raises_what_the_server_refuses,
        ksql_takes_properties_of_streams,
        inserts_stream_acknowledges_each_row,
        inserts_stream_reports_a_wrong_row,
        query_sync_returns_the_header_and_the_rows,
        query_sync_returns_what_is_wrong_with_a_query,
        query_async_follows_a_stream_until_close_query,
        query_async_takes_properties,
        close_query_of_an_unknown_query,
    ]
)

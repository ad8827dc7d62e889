"""A user's program with PyPI's ksqldb-client, which validates answers with Pydantic."""

import warnings
from datetime import UTC, datetime

from client_checks import URL, main, name, statement, stream, stream_statement, until
from ksqldb_client import KSqlDBClient
from ksqldb_client.exceptions import APIError
from ksqldb_client.testing import parse

warnings.simplefilter("ignore", DeprecationWarning)
client = KSqlDBClient(URL, timeout_in_seconds=60)


def info() -> None:
    found = client.info().ksql_server_info
    assert (found.ksql_service_id, found.server_status) == ("default_", "RUNNING")
    assert found.version
    assert found.kafka_cluster_id


def ksql_returns_entities() -> None:
    made = name("created")
    (entity,) = client.ksql(stream_statement(made, "id STRING KEY, n INT"))
    assert (entity.type, entity.command_status.status) == ("currentStatus", "SUCCESS")
    assert entity.command_id == f"stream/`{made.upper()}`/create"
    assert entity.command_sequence_number >= 0
    (listed,) = client.ksql("LIST STREAMS;")
    found = {one.name: one for one in listed.streams}[made.upper()]
    assert (found.topic, found.key_format, found.value_format) == (made, "KAFKA", "JSON")
    assert found.is_windowed is False


def ksql_takes_properties_variables_and_a_sequence_number() -> None:
    source, made = stream("source"), name("copied")
    statement(f"INSERT INTO {source} (id, n) VALUES ('a', 1);")
    (entity,) = client.ksql(
        "CREATE STREAM ${to} AS SELECT * FROM ${from};",
        stream_properties={"auto.offset.reset": "earliest"},
        session_variables={"to": made, "from": source},
        command_sequence_number=0,
    )
    rows = until(lambda: rows_of(f"SELECT * FROM {made};"))
    assert rows == [("a", 1)]
    (queries,) = client.ksql("LIST QUERIES;")
    (query,) = [one for one in queries.queries if one.id == entity.command_status.query_id]
    assert query.sinks == (made.upper(),)
    client.ksql(f"TERMINATE {entity.command_status.query_id};")


def rows_of(query: str) -> list[tuple[object, ...]]:
    found = parse.extract_rows_from_query_response(client.query(query))
    return [one.row.columns for one in found]


def errors_have_their_code() -> None:
    for ask in (client.ksql, client.query, client.query_stream):
        try:
            ask("SELECT * FROM missing EMIT NOTHING;")
        except APIError as error:
            assert error.error_code == 40001, error.error_code
            assert error.message
        else:
            raise AssertionError("it was accepted")


def query_returns_a_header_and_rows() -> None:
    made = stream(
        "asked", "id STRING KEY, a ARRAY<INT>, s STRUCT<x INT, y STRING>, d DECIMAL(4, 1)"
    )
    row = "VALUES ('a', ARRAY[1, 2], STRUCT(x := 1, y := 'z'), 12.5)"
    statement(f"INSERT INTO {made} (id, a, s, d) {row};")
    found = client.query(f"SELECT * FROM {made};")
    header = parse.extract_header_from_query_response(found).header
    assert header.query_id
    assert parse.extract_columns_from_ksql_schema(header.schema_) == {
        "ID": "STRING",
        "A": "ARRAY",
        "S": "STRUCT",
        "D": "DECIMAL",
    }
    (one,) = parse.extract_rows_from_query_response(found)
    assert one.row.columns == ("a", [1, 2], {"X": 1, "Y": "z"}, 12.5)


def query_results_become_a_frame() -> None:
    made = stream("framed", "id STRING KEY, n INT, d DOUBLE, ok BOOLEAN, t TIMESTAMP")
    statement(f"INSERT INTO {made} VALUES ('a', 1, 0.5, true, '2024-02-29T12:00:00.000');")
    statement(f"INSERT INTO {made} (id) VALUES ('b');")
    frame = parse.query_response_to_pandas(client.query(f"SELECT * FROM {made};"))
    assert list(frame.columns) == ["id", "n", "d", "ok", "t"]
    assert frame["n"].tolist()[0] == 1
    assert frame["t"][0].to_pydatetime() == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert frame[["n", "d", "ok", "t"]].iloc[1].isna().all()


def query_stream_returns_rows() -> None:
    made = stream("streamed")
    statement(f"INSERT INTO {made} (id, n) VALUES ('a', 1);")
    client.query_stream(f"SELECT * FROM {made};")


def close_query_of_an_unknown_query() -> None:
    try:
        client.close_query(query_id="unknown")
    except APIError as error:
        assert error.error_code == 40000
    else:
        raise AssertionError("it was closed")


def status_of_a_command_with_a_query() -> None:
    source, made = stream("status"), name("status_copy")
    (entity,) = client.ksql(f"CREATE STREAM {made} AS SELECT * FROM {source};")
    found = client.status(entity.command_id)
    assert found.status == "SUCCESS"
    assert found.query_id == entity.command_status.query_id
    client.ksql(f"TERMINATE {found.query_id};")


main(
    [
        info,
        ksql_returns_entities,
        ksql_takes_properties_variables_and_a_sequence_number,
        errors_have_their_code,
        query_returns_a_header_and_rows,
        query_results_become_a_frame,
        query_stream_returns_rows,
        close_query_of_an_unknown_query,
        status_of_a_command_with_a_query,
    ]
)

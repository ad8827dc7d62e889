"""A user's program with PyPI's ksql or one of its forks, pykSQL and ksql-python-ng.

ksql and pykSQL read `/query` line by line; ksql-python-ng reads both forms as pieces.
"""

import itertools
import json
import os
import tempfile
from pathlib import Path

from client_checks import EARLIEST, URL, main, name, statement, stream, stream_statement, until
from ksql import KSQLAPI, SQLBuilder
from ksql.errors import FileTypeError, KSQLError
from ksql.upload import FileUpload
from ksql.utils import (
    drop_all_streams,
    drop_stream,
    get_all_streams,
    get_dependent_queries,
    get_stream_info,
)

KIND = os.environ.get("KIND", "ksql")
client = KSQLAPI(URL, timeout=60)


def filled(what: str) -> str:
    made = stream(what)
    for n in range(3):
        statement(f"INSERT INTO {made} (id, n) VALUES ('k{n}', {n});")
    return made


def lines(query: str, count: int, **options: object) -> list[str]:
    """Return the first pieces of a query, without the end, at which old forks fail."""
    found = client.query(query, stream_properties=EARLIEST, **options)
    return list(itertools.islice(found, count))


def get_ksql_version() -> None:
    assert client.get_url() == URL
    assert client.timeout == 60
    info = client.sa.get_request(f"{URL}/info").json()["KsqlServerInfo"]
    assert client.get_ksql_version() == info["version"] != ""


def get_properties() -> None:
    found = {one["name"]: one["value"] for one in client.get_properties()}
    assert found["ksql.service.id"] == "default_"


def ksql_with_and_without_a_semicolon() -> None:
    for text in ("SHOW TABLES", "SHOW TABLES;"):
        (entity,) = client.ksql(text)
        wanted = {"@type": "tables", "statementText": "SHOW TABLES;", "warnings": []}
        assert {key: entity[key] for key in wanted} == wanted
        assert isinstance(entity["tables"], list)


def ksql_raises_what_the_server_refuses() -> None:
    for text in ("noi", "DROP STREAM missing;", "SELECT * FROM missing;"):
        try:
            client.ksql(text)
        except KSQLError as error:
            assert error.error_code in {40001, 40002}, error.error_code
            assert error.msg
        else:
            raise AssertionError(f"{text} was accepted")


def create_stream_and_create_stream_as() -> None:
    made, copied = name("by_builder"), name("copied")
    columns = ["id STRING KEY", "n BIGINT", "at BIGINT"]
    statement(stream_statement(made, ", ".join(columns)))
    statement(f"DROP STREAM {made};")
    assert client.create_stream(made, columns, made, "JSON")
    statement(f"INSERT INTO {made} (id, n, at) VALUES ('a', 12, 1000);")
    statement(f"INSERT INTO {made} (id, n, at) VALUES ('b', 1, 2000);")
    assert client.create_stream_as(
        copied,
        ["*"],
        made,
        kafka_topic=copied,
        value_format="JSON",
        conditions="n > 10",
        partition_by="n",
        timestamp="at",
    )
    statement(f"INSERT INTO {made} (id, n, at) VALUES ('c', 13, 3000);")
    found = until(lambda: rows_of(f"SELECT n, id FROM {copied};"))
    assert found == [[13, "c"]]
    statement(f"DROP STREAM {copied};")


def rows_of(query: str) -> list[list[object]]:
    """Return the rows of a pull query by reading its text as one JSON document."""
    read = client.sa.http1_stream if KIND == "ng" else client.sa.query
    whole = json.loads("".join(read(query)))
    return [one["row"]["columns"] for one in whole if "row" in one]


def create_table_sets_a_property_that_ksqldb_has_removed() -> None:
    made = name("table")
    statement(stream_statement(made, "n INT"))
    try:
        client.create_table(made + "_t", ["n INT PRIMARY KEY"], made, "JSON", "n")
    except KSQLError as error:
        assert error.error_code == 40001
        assert "KEY" in error.msg
    else:
        raise AssertionError("the property KEY was accepted")


def the_builder_writes_statements() -> None:
    made = name("built")
    statement(stream_statement(made, "n INT"))
    text = SQLBuilder.build(
        sql_type="create_as",
        table_type="stream",
        table_name=f"{made}_as",
        src_table=made,
        kafka_topic=f"{made}_as",
        select_columns=["n"],
        value_format="JSON",
    )
    (entity,) = client.ksql(text)
    assert entity["commandStatus"]["status"] == "SUCCESS"
    statement(f"DROP STREAM {made}_as;")


def query_returns_a_line_for_each_row() -> None:
    made = filled("lines")
    query = f"SELECT n FROM {made} EMIT CHANGES LIMIT 3"
    header, *rows = lines(query, 4) if KIND != "ng" else text_of_push(query)
    schema = json.loads(header.strip().rstrip(",") + "]")[0]["header"]["schema"]
    assert schema == "`N` INTEGER"
    assert rows[:3] == [f'{{"row":{{"columns":[{n}]}}}},\n' for n in range(3)]


def text_of_push(query: str) -> list[str]:
    text = "".join(lines(query, 100))
    return text.splitlines(keepends=True)


def query_returns_objects() -> None:
    made = stream("objects", "id STRING KEY, n INT, st STRUCT<a INT, b STRING>, ar ARRAY<INT>")
    text = (
        f"INSERT INTO {made} (id, n, st, ar) VALUES ('a', 1, STRUCT(a := 2, b := 'x'), ARRAY[1]);"
    )
    statement(text)
    query = f"SELECT * FROM {made} EMIT CHANGES LIMIT 1"
    option = {"parse": True, "use_http2": True} if KIND == "ng" else {"return_objects": True}
    (row,) = client.query(query, stream_properties=EARLIEST, **option)
    assert row == {"ID": "a", "N": 1, "ST": {"A": 2, "B": "x"}, "AR": [1]}


def query_by_http2_returns_each_row() -> None:
    made = filled("by_http2")
    query = f"SELECT n FROM {made} EMIT CHANGES LIMIT 3"
    found = lines(query, 100, use_http2=True)
    if KIND == "pyksql":
        found = "".join(found).splitlines()
    header, *rows = map(json.loads, found)
    assert header["columnNames"] == ["N"]
    assert rows == [[0], [1], [2]]


def query_raises_what_the_server_refuses() -> None:
    try:
        list(client.query("SELECT * FROM missing EMIT CHANGES"))
    except (KSQLError, ValueError) as error:
        assert "40001" in str(vars(error)) + str(error)
    else:
        raise AssertionError("it was accepted")


def close_query_ends_a_push_query() -> None:
    made = filled("closed")
    found = client.query(
        f"SELECT n FROM {made} EMIT CHANGES", stream_properties=EARLIEST, use_http2=KIND == "ng"
    )
    header = next(found)
    whole = header.strip()
    head = (
        json.loads(whole) if whole[0] == "{" else json.loads(whole.rstrip(",") + "]")[0]["header"]
    )
    next(found)
    assert client.close_query(head["queryId"]) is True
    assert client.close_query(head["queryId"]) is False


def inserts_stream_acknowledges_each_row() -> None:
    made = stream("inserted")
    acks = client.inserts_stream(made, [{"id": "a", "n": 1}, {"id": "b", "n": 2}])
    assert acks == [{"status": "ok", "seq": 0}, {"status": "ok", "seq": 1}]


def utils_find_the_queries_of_a_stream() -> None:
    made, copied = stream("described"), name("described_copy")
    statement(f"CREATE STREAM {copied} AS SELECT * FROM {made};")
    assert get_stream_info(client, copied)["topic"] == copied.upper()
    read, written = get_dependent_queries(client, copied)
    assert read == []
    assert [one.startswith(f"CSAS_{copied.upper()}_") for one in written] == [True]
    assert get_dependent_queries(client, made) == (written, [])
    drop_stream(client, copied)
    assert get_stream_info(client, copied) is None


def utils_list_and_drop_streams() -> None:
    prefix = name("many")
    for end in ("_x", "_y"):
        statement(stream_statement(prefix + end, "n INT"))
    assert get_all_streams(client, prefix) == [f"{prefix}_x".upper(), f"{prefix}_y".upper()]
    drop_all_streams(client, prefix)
    assert get_all_streams(client, prefix) == []


def upload_runs_the_statements_of_a_file() -> None:
    made = name("uploaded")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules.ksql")
        path.write_text(f"{stream_statement(made, 'n INT')}\n\nDROP STREAM\n  {made};\n")
        answers = FileUpload(URL).upload(str(path))
        assert [one[0]["commandStatus"]["status"] for one in answers] == ["SUCCESS", "SUCCESS"]
        try:
            FileUpload(URL).upload(str(path.with_suffix(".sql")))
        except FileTypeError:
            return
    raise AssertionError("a file of another kind was read")


main(
    [
        get_ksql_version,
        get_properties,
        ksql_with_and_without_a_semicolon,
        ksql_raises_what_the_server_refuses,
        create_stream_and_create_stream_as,
        create_table_sets_a_property_that_ksqldb_has_removed,
        the_builder_writes_statements,
        query_returns_a_line_for_each_row,
        query_returns_objects,
        query_by_http2_returns_each_row,
        query_raises_what_the_server_refuses,
        close_query_ends_a_push_query,
        inserts_stream_acknowledges_each_row,
        utils_find_the_queries_of_a_stream,
        utils_list_and_drop_streams,
        upload_runs_the_statements_of_a_file,
    ]
)

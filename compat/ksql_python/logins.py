"""PyPI's ksql or one of its forks against a server with TLS and logins."""

import os

from client_checks import EARLIEST, PASSWORD, URL, USER, main, statement, stream
from ksql import KSQLAPI
from ksql.errors import KSQLError

KIND = os.environ.get("KIND", "ksql")


def a_request_without_a_login_is_refused() -> None:
    for refused, expected in (
        (lambda: KSQLAPI(URL), ValueError),
        (lambda: KSQLAPI(URL, check_version=False).ksql("LIST STREAMS;"), KSQLError),
    ):
        try:
            refused()
        except expected as error:
            assert "401" in str(vars(error)) + str(error)
        else:
            raise AssertionError("it was answered")


def a_user_runs_statements() -> None:
    client = KSQLAPI(URL, api_key=USER, secret=PASSWORD)
    assert client.ksql("LIST STREAMS;")[0]["@type"] == "streams"


def a_user_runs_queries() -> None:
    made = stream("with_login")
    statement(f"INSERT INTO {made} (id, n) VALUES ('a', 1);")
    client = KSQLAPI(URL, api_key=USER, secret=PASSWORD)
    query = f"SELECT n FROM {made} EMIT CHANGES LIMIT 1"
    if KIND == "ng":
        (row,) = client.query(query, stream_properties=EARLIEST, use_http2=True, parse=True)
    else:
        (row,) = client.query(query, stream_properties=EARLIEST, return_objects=True)
    assert row == {"N": 1}


main([a_request_without_a_login_is_refused, a_user_runs_statements, a_user_runs_queries])

"""PyPI's ksqldb against a server with TLS and logins."""

import requests
from client_checks import PASSWORD, URL, USER, main
from ksqldb import KSQLdbClient


def a_request_without_a_login_is_refused() -> None:
    try:
        KSQLdbClient(URL).ksql("LIST STREAMS;")
    except requests.HTTPError as error:
        assert error.response.status_code == 401
        assert error.response.json()["error_code"] == 40100
    else:
        raise AssertionError("it was answered")


def a_user_runs_statements() -> None:
    client = KSQLdbClient(URL, USER, PASSWORD)
    assert client.ksql("LIST STREAMS;")[0]["@type"] == "streams"


main([a_request_without_a_login_is_refused, a_user_runs_statements])

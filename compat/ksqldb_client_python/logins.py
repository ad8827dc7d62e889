"""PyPI's ksqldb-client against a server with TLS and logins."""

from client_checks import PASSWORD, URL, USER, main
from ksqldb_client import KSqlDBClient
from ksqldb_client.exceptions import APIError


def a_request_without_a_login_is_refused() -> None:
    try:
        KSqlDBClient(URL).info()
    except APIError as error:
        assert error.error_code == 40100
    else:
        raise AssertionError("it was answered")


def a_user_asks_over_http2_with_tls() -> None:
    assert KSqlDBClient(URL, USER, PASSWORD).info().ksql_server_info.version


main([a_request_without_a_login_is_refused, a_user_asks_over_http2_with_tls])

"""Read the JSON bodies of requests.

    /ksql, /query       {"ksql": …, "streamsProperties": {…}, "sessionVariables": {…},
                         "commandSequenceNumber": …}
    /query-stream       {"sql": …, "properties": {…}, "sessionVariables": {…}}; for /query, too
    /close-query        {"queryId": …}
    /inserts-stream     {"target": …, "properties": {…}}   the first line; then a row per line
    /ws/query           ?request= and the body of /query, encoded for an address

Unknown members are ignored, and so is `requestProperties`: servers of ksqlDB send it to each other,
and it does not change the rows that a client gets. Values of properties and variables may be
strings, numbers or booleans.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from duolog.server.failures import Failure, bad_request

_SOCKET_VERSION: Final = "1"
_STREAMS: Final = "ksql.streams."
"""Prefix of a property that ksqlDB passes on to Kafka Streams; the rest is the property's name."""
_DECODER: Final = json.JSONDecoder(parse_float=Decimal)
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of half a character; two of them may be a whole one."""


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """The body of a request with statements."""

    sql: str
    properties: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    """Values of variables by name in upper case."""
    command_number: int | None = None
    """The command that must be known before the statements run; None: no wait."""


@dataclass(frozen=True, slots=True)
class InsertsRequest:
    """The first line of a stream of rows."""

    target: str
    properties: dict[str, str] = field(default_factory=dict)


def statement_request(body: bytes) -> StatementRequest:
    """Return the request of /ksql.

    Raises:
        Failure: 400, the body is not such a request.
    """
    return _statement(json_object(body))


def query_request(body: bytes) -> StatementRequest:
    """Return the request of /query, whose members may be named as those of /query-stream.

    ksqlDB's documentation has examples with `sql` and `streamsProperties` in one body.

    Raises:
        Failure: 400, the body is not such a request.
    """
    given = json_object(body)
    if given.get("ksql") is None and given.get("sql") is not None:
        properties = _properties(given, "streamsProperties") | _properties(given, "properties")
        text, number = _text(given, "sql"), _command_number(given)
        return StatementRequest(text, properties, _variables(given), number)
    return _statement(given)


def stream_request(body: bytes) -> StatementRequest:
    """Return the request of /query-stream.

    Raises:
        Failure: 400, the body is not such a request.
    """
    given = json_object(body)
    return StatementRequest(
        _text(given, "sql"), _properties(given, "properties"), _variables(given)
    )


def socket_request(query: Mapping[str, str]) -> StatementRequest:
    """Return the request of /ws/query, from the parameters of its address.

    Raises:
        Failure: 400, they are not such a request.
    """
    version = query.get("api-version", _SOCKET_VERSION)
    if version != _SOCKET_VERSION:
        raise bad_request(f"Received invalid api version: {version}")
    text = query.get("request", "")
    try:
        if not text:
            raise bad_request("missing request parameter")
        request = statement_request(text.encode())
        if not request.sql.strip():
            raise bad_request('"ksql" field of "request" must be populated')
    except Failure as failure:
        raise bad_request(f"Error parsing request: {failure.message}") from failure
    return request


def query_to_close(body: bytes) -> str:
    """Return the id of the query that /close-query ends.

    Raises:
        Failure: 400, the body is not such a request.
    """
    return _text(json_object(body), "queryId")


def inserts_request(line: bytes) -> InsertsRequest:
    """Return the stream and the properties of /inserts-stream.

    Raises:
        Failure: 400, the line is not such a request.
    """
    given = json_object(line)
    return InsertsRequest(_text(given, "target"), _properties(given, "properties"))


def json_object(body: bytes) -> dict[str, Any]:
    """Return an object of JSON; its fractions are decimals, as written.

    Raises:
        Failure: 400, the text is not an object of JSON, or has half of a surrogate pair, which no
            response, topic or log could have.
    """
    try:
        text = body.decode(json.detect_encoding(body))
        found = _DECODER.decode(text)
        if _HALF.search(text):
            json.dumps(found, ensure_ascii=False, default=str).encode()
    except (ValueError, RecursionError) as error:
        raise bad_request(f"Invalid JSON in request: {error}") from error
    if not isinstance(found, dict):
        raise bad_request("Invalid JSON in request: expected an object")
    return found


def _statement(given: Mapping[str, Any]) -> StatementRequest:
    return StatementRequest(
        _text(given, "ksql"),
        _properties(given, "streamsProperties"),
        _variables(given),
        _command_number(given),
    )


def _command_number(given: Mapping[str, Any]) -> int | None:
    number = given.get("commandSequenceNumber")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise bad_request(f"commandSequenceNumber must be a whole number, not {number!r}")
    return number


def _text(given: Mapping[str, Any], name: str) -> str:
    found = given.get(name)
    if found is None:
        raise bad_request(f"Invalid JSON in request: Missing required property '{name}'")
    if not isinstance(found, str):
        raise bad_request(f"Invalid JSON in request: property '{name}' must be a string")
    return found


def _properties(given: Mapping[str, Any], name: str) -> dict[str, str]:
    return {key.removeprefix(_STREAMS): value for key, value in _texts(given, name).items()}


def _variables(given: Mapping[str, Any]) -> dict[str, str]:
    return {name.upper(): value for name, value in _texts(given, "sessionVariables").items()}


def _texts(given: Mapping[str, Any], name: str) -> dict[str, str]:
    found = given.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise bad_request(f"Invalid JSON in request: property '{name}' must be an object")
    return {key: _scalar(key, value) for key, value in found.items() if value is not None}


def _scalar(name: str, value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | Decimal():
            return str(value)
        case _:
            raise bad_request(f"Invalid JSON in request: '{name}' must be a string")

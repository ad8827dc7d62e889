"""The client's side of logins, against the server's side."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.administration.sasl_login import login_of
from duolog.security.clients.client_security import ClientSecurity, TokenEndpoint
from duolog.security.credentials.scram import BY_NAME, credential, salted_password
from duolog.security.sasl.exchange import Challenge, Failure, Success
from duolog.security.sasl.scram_exchange import ScramExchange

SALT, ROUNDS = b"some salt", 4096
USER, PASSWORD = "alice=with,signs", "päss,word"


def security(mechanism: str, password: str = PASSWORD) -> ClientSecurity:
    return ClientSecurity("SASL_SSL", mechanism, USER, password)


def server(mechanism: str) -> ScramExchange:
    known = BY_NAME[mechanism]
    salted = salted_password(known, PASSWORD, SALT, ROUNDS)
    stored = credential(known, salted, SALT, ROUNDS)
    return ScramExchange(known, lambda user: (stored, user == USER), "server-nonce")


def exchange(
    mechanism: str, password: str = PASSWORD, change: Callable[[bytes], bytes] = lambda data: data
) -> object:
    """Let client and server talk; return the server's last result."""
    login, peer = login_of(security(mechanism, password)), server(mechanism)
    message = next(login)
    while True:
        result = peer.step(message)
        if not isinstance(result, Challenge | Success):
            return result
        try:
            message = login.send(change(result.data))
        except StopIteration:
            return result


@pytest.mark.parametrize("mechanism", BY_NAME)
def test_scram_logs_in_with_the_right_password_only(mechanism: str) -> None:
    assert isinstance(exchange(mechanism), Success)
    assert isinstance(exchange(mechanism, "another"), Failure)


@pytest.mark.parametrize("mechanism", BY_NAME)
def test_a_server_that_does_not_know_the_password_is_refused(mechanism: str) -> None:
    def forge(data: bytes) -> bytes:
        size = hashlib.new(BY_NAME[mechanism].digest).digest_size
        return b"v=" + base64.b64encode(bytes(size)) if data.startswith(b"v=") else data

    with pytest.raises(KafkaError, match="failed the login") as raised:
        exchange(mechanism, change=forge)
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: re.sub(rb"r=[^,]+", b"r=another", data), id="another nonce"),
        pytest.param(lambda data: data.replace(b"i=4096", b"i=1"), id="a guessable proof"),
        pytest.param(lambda data: data.replace(b"i=4096", b"i=99999999999"), id="endless work"),
        pytest.param(lambda data: data.replace(b"i=4096", b"i=x"), id="no number"),
        pytest.param(lambda _: b"nonsense", id="nonsense"),
    ],
)
def test_a_bad_first_message_of_the_server_is_refused(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(KafkaError, match="failed the login"):
        exchange("SCRAM-SHA-256", change=change)


def test_a_password_is_sent_as_it_is_by_plain() -> None:
    assert list(login_of(security("PLAIN"))) == [f"\0{USER}\0{PASSWORD}".encode()]


class Issuer(BaseHTTPRequestHandler):
    """An endpoint that issues tokens to one client."""

    asked: list[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.headers["Authorization"], body))  # type: ignore[attr-defined]
        answer = json.dumps({"access_token": "a-token"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def issuer() -> Iterator[Any]:
    found: Any = HTTPServer(("127.0.0.1", 0), Issuer)
    found.asked = []
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def bearer(port: int) -> ClientSecurity:
    endpoint = TokenEndpoint(f"http://127.0.0.1:{port}/token", "me", "hidden", "all")
    return ClientSecurity("SASL_SSL", "OAUTHBEARER", token=endpoint)


def test_a_token_is_fetched_for_the_client_and_sent(issuer: Any) -> None:
    messages = list(login_of(bearer(issuer.server_port)))

    assert messages == [b"n,,\x01auth=Bearer a-token\x01\x01"]
    ((authorization, body),) = issuer.asked
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"me:hidden"
    assert body == b"grant_type=client_credentials&scope=all"


def test_an_endpoint_that_is_away_is_reported_without_the_secret(issuer: Any) -> None:
    security = bearer(issuer.server_port)
    issuer.shutdown()
    issuer.server_close()

    with pytest.raises(KafkaError, match="no token") as raised:
        list(login_of(security))
    assert "hidden" not in str(raised.value)

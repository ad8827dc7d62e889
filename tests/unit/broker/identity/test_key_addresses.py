"""Keys of an issuer over https: what is accepted, and that old keys outlive a failure."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

import certificates
from certificates import Certificates
from duolog.broker.settings import BrokerSettings
from duolog.security.logins.jwks import Issuer, fetch_keys, rules_of
from duolog.security.sasl.jwt import Keys
from unit.broker.identity.test_jwks import CONFIGURED, NEW, OLD, document, token


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@contextmanager
def serving(files: Certificates, status: int, body: bytes, **headers: str) -> Iterator[str]:
    """Answer every request by https with this; yield the address."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}/keys?v=1"
    server.shutdown()
    thread.join()
    server.server_close()
    assert set(asked) <= {"/keys?v=1"}


def test_a_document_over_https_is_read(files: Certificates) -> None:
    with serving(files, 200, document(OLD, NEW).encode()) as address:
        assert len(fetch_keys(address, files.client_context())) == 2


@pytest.mark.parametrize("status", [201, 204, 301, 302, 307, 401, 404, 500])
def test_another_status_is_an_error_and_a_redirect_is_not_followed(
    files: Certificates, status: int
) -> None:
    """CVE-2025-27817: a redirect could lead to another host, or a file."""
    body = b"" if status == 204 else document(OLD).encode()
    with (
        serving(files, status, body, Location="/elsewhere") as address,
        pytest.raises(OSError, match=f"status {status}"),
    ):
        fetch_keys(address, files.client_context())


@pytest.mark.parametrize("body", [b" " * (2 << 20), b"[]", b"{}", b"no JSON"])
def test_a_large_or_another_document_is_refused(files: Certificates, body: bytes) -> None:
    with serving(files, 200, body) as address, pytest.raises(ValueError, match=r"."):
        fetch_keys(address, files.client_context())


def test_a_server_that_cannot_be_verified_gives_no_keys(files: Certificates) -> None:
    with (
        serving(files, 200, document(OLD).encode()) as address,
        pytest.raises(OSError, match="certificate verify failed"),
    ):
        fetch_keys(address)


def test_old_keys_count_while_new_ones_cannot_be_fetched(
    harness: Any, caplog: pytest.LogCaptureFixture
) -> None:
    clock = harness.broker.clock
    failures = 0

    def fetch(_address: str) -> Keys:
        nonlocal failures
        if issuer._keys is None:  # noqa: SLF001
            return Keys(json.loads(document(OLD)))
        failures += 1
        raise OSError("no route")

    settings = BrokerSettings(CONFIGURED | {"sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000"})
    rules = rules_of(settings)
    assert rules is not None
    issuer = Issuer(settings, rules, clock, harness.broker.loop, fetch=fetch)
    issuer.start()
    harness.turn_until(lambda: issuer._keys is not None)  # noqa: SLF001

    issuer._refresh()  # noqa: SLF001
    harness.turn_until(lambda: "cannot load keys of the issuer" in caplog.text)

    assert failures == 1
    assert issuer.verify(token(OLD, clock.now_ms()))[0].name == "alice"

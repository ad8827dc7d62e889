"""Requests to a registry with TLS and bearer tokens."""

import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from conformance.kafka.certificates import Authority
from duolog.core.errors import ConfigError
from duolog.registry.client.requests import Requests, Unanswered, addresses_of

TOKEN = "planted-token"  # noqa: S105 - planted


class Registry:
    """Answers with the header of the user, over TLS."""

    def __init__(self, authority: Authority) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(self.headers.get("Authorization")).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.sign("registry"))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self.authorities = authority.certificate
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    found = Registry(Authority(tmp_path_factory.mktemp("certificates")))
    yield found
    found.close()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CA_FILE", "TOKEN", "USER_INFO"):
        monkeypatch.delenv(f"DUOLOG_SCHEMA_REGISTRY_{name}", raising=False)


def requests_to(
    registry: Registry, token: str | None = None, authorities: Path | None = None
) -> Requests:
    (address,) = addresses_of(registry.url)
    address = replace(address, token=token, authorities=authorities)
    return Requests((address,), pause=lambda _seconds: None, rounds=1)


def test_a_token_is_sent_to_a_registry_whose_authority_is_given(registry: Registry) -> None:
    requests = requests_to(registry, TOKEN, registry.authorities)

    assert requests.get("/") == f"Bearer {TOKEN}"


def test_the_environment_has_token_and_authority(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUOLOG_SCHEMA_REGISTRY_CA_FILE", str(registry.authorities))
    monkeypatch.setenv("DUOLOG_SCHEMA_REGISTRY_TOKEN", f"{TOKEN}\n")

    assert requests_to(registry).get("/") == f"Bearer {TOKEN}"


def test_a_user_in_the_address_is_not_replaced_by_a_token(registry: Registry) -> None:
    (address,) = addresses_of(registry.url.replace("https://", "https://ann:p@"))
    address = replace(address, token=TOKEN, authorities=registry.authorities)

    assert str(Requests((address,)).get("/")).startswith("Basic ")


@pytest.mark.parametrize("others", [True, False])
def test_a_certificate_of_another_authority_is_refused_with_the_setting(
    registry: Registry, tmp_path: Path, *, others: bool
) -> None:
    wrong = Authority(tmp_path).certificate if others else None

    with pytest.raises(Unanswered) as caught:
        requests_to(registry, TOKEN, wrong).get("/")

    assert "--registry-ca-file" in caught.value.hint
    assert TOKEN not in caught.value.render()


def test_a_missing_file_of_authorities_is_named(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.pem"):
        requests_to(registry, TOKEN, tmp_path / "nothing.pem").get("/")


def test_no_representation_has_the_token(registry: Registry) -> None:
    (address,) = addresses_of(registry.url)

    assert TOKEN not in repr(replace(address, token=TOKEN))

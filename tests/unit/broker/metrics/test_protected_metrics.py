"""Metrics over HTTPS, for those who have a token and the right to describe the cluster."""

import json
import logging
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import certificates
from certificates import Certificates
from duolog.broker.metrics import tls as metrics_tls
from duolog.broker.metrics.http import MetricsEndpoint
from duolog.broker.metrics.opening import open_metrics
from duolog.broker.process import _exposed
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.units import SECOND_MS
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.credentials.tokens import Token, digest_of, new_token
from duolog.security.identity.principal import Principal
from duolog.security.records.records import AclChange, TokenChange

ALICE, EVE = Principal("User", "alice"), Principal("User", "eve")
TOKENS = {"authorizer.class.name": "acl", "metrics.require.token": "true"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@contextmanager
def serving(harness: Any = None, **settings: str) -> Iterator[MetricsEndpoint]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    given = BrokerSettings({"metrics.listen": "127.0.0.1:0", **named})
    endpoint = open_metrics(given, insecure=False)
    if harness is not None:
        endpoint.attach(harness.broker)
    yield endpoint
    endpoint.close()


def get(
    endpoint: MetricsEndpoint,
    path: str = "/metrics",
    *,
    harness: Any = None,
    authorization: str = "",
    context: ssl.SSLContext | None = None,
) -> tuple[int, bytes]:
    """Ask on another thread while this one turns the loop."""
    found: list[tuple[int, bytes] | Exception] = []
    scheme = "http" if context is None else "https"
    request = urllib.request.Request(f"{scheme}://{endpoint.address}{path}")  # noqa: S310 - ours
    if authorization:
        request.add_header("Authorization", authorization)

    def ask() -> None:
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:  # noqa: S310
                found.append((answer.status, answer.read()))
        except urllib.error.HTTPError as error:
            with error:
                found.append((error.code, error.read()))
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        if harness is not None:
            harness.turn()
        thread.join(0.01)
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


@pytest.fixture
def secured(open_harness: Any) -> Any:
    """A broker whose user alice may describe the cluster."""
    harness = open_harness(authorizer_class_name="acl")
    rule = Acl(
        ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME, ALICE, "*", Operation.DESCRIBE,
        Permission.ALLOW,
    )  # fmt: skip
    harness.broker.security.state.apply(AclChange(rule, present=True))
    return harness


def token_of(harness: Any, principal: Principal, lifetime_s: int = 3600) -> str:
    text = new_token(principal.name.encode().ljust(32))
    expires_at_ms = harness.broker.clock.now_ms() + lifetime_s * SECOND_MS
    token = Token(digest_of(text), principal, 0, expires_at_ms)
    harness.broker.security.state.apply(TokenChange(token.token_id, token))
    return text


def test_a_token_of_a_user_who_may_describe_the_cluster_reads_metrics(secured: Any) -> None:
    with serving(secured, **TOKENS) as endpoint:
        bearer = f"Bearer {token_of(secured, ALICE)}"
        status, body = get(endpoint, harness=secured, authorization=bearer)

    assert status == 200
    assert b"duolog_audit_lines_lost_total" in body


def test_others_are_refused_and_the_audit_log_has_it(
    secured: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="duolog.audit")
    own = token_of(secured, ALICE)
    with serving(secured, **TOKENS) as endpoint:

        def status(authorization: str) -> int:
            return get(endpoint, harness=secured, authorization=authorization)[0]

        assert status("") == 401
        assert status("Basic YWxpY2U6cGVuY2ls") == 401
        assert status("Bearer") == 401
        assert status(f"Bearer {own}x") == 401
        assert status(f"Bearer {own} {own}") == 401
        assert status(f"Bearer {token_of(secured, ALICE, lifetime_s=-1)}") == 401
        assert status("Bearer a.b.c") == 401
        assert status(f"Bearer {token_of(secured, EVE)}") == 403
        assert get(endpoint, "/other", harness=secured)[0] == 401

    events = [json.loads(row.getMessage()) for row in caplog.records]
    denied = [event for event in events if event["event"] == "denied"]
    assert [(event["principal"], event["operation"]) for event in denied] == [
        ("User:eve", "DESCRIBE")
    ]
    failed = [event for event in events if event["event"] == "login"]
    assert {(event["outcome"], event["host"]) for event in failed} == {("failure", "127.0.0.1")}
    assert own not in caplog.text


def test_supervisors_need_no_token(secured: Any) -> None:
    with serving(secured, **TOKENS) as endpoint:
        assert get(endpoint, "/health", harness=secured)[0] == 200
        assert get(endpoint, "/ready", harness=secured)[0] in {200, 503}


def test_before_there_are_users_a_token_opens_nothing() -> None:
    with serving(**TOKENS) as endpoint:
        assert get(endpoint, authorization="Bearer duolog_abc")[0] == 503
        assert get(endpoint)[0] == 401


def test_https_shows_the_certificate_and_plain_http_gets_nothing(
    secured: Any, files: Certificates
) -> None:
    with serving(secured, metrics_tls_cert=str(files.server)) as endpoint:
        assert get(endpoint, harness=secured, context=files.client_context())[0] == 200
        with pytest.raises(OSError, match=r".*"):
            get(endpoint, harness=secured)
        with pytest.raises(OSError, match="certificate verify failed"):
            get(endpoint, harness=secured, context=ssl.create_default_context())
        assert get(endpoint, "/health", harness=secured, context=files.client_context())[0] == 200


def test_a_silent_client_of_https_keeps_no_other_waiting(secured: Any, files: Certificates) -> None:
    with (
        serving(secured, metrics_tls_cert=str(files.server)) as endpoint,
        socket.create_connection(endpoint.address, timeout=60),
    ):
        assert get(endpoint, harness=secured, context=files.client_context())[0] == 200


def test_a_new_certificate_is_shown_without_a_restart(
    secured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = certificates.make(tmp_path / "old")
    new = certificates.make(tmp_path / "new")
    monkeypatch.setattr(metrics_tls, "_LOOK_S", 0.0)
    with serving(secured, metrics_tls_cert=str(old.server)) as endpoint:
        assert get(endpoint, harness=secured, context=old.client_context())[0] == 200

        old.server.write_bytes(new.server.read_bytes())

        assert get(endpoint, harness=secured, context=new.client_context())[0] == 200


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"metrics.require.token": "true"}, "metrics.require.token"),
        ({"metrics.tls.key": "/key.pem"}, "metrics.tls.key"),
        ({"metrics.tls.cert": "/nowhere.pem"}, ""),
    ],
)
def test_settings_that_would_lock_everyone_out_are_refused_at_the_start(
    settings: dict[str, str], name: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        open_metrics(BrokerSettings({"metrics.listen": "127.0.0.1:0", **settings}), insecure=False)

    assert caught.value.name == name


@pytest.mark.parametrize(
    ("tls", "tokens", "danger"),
    [
        (False, False, "clients are not authenticated"),
        (True, False, "clients are not authenticated"),
        (False, True, "nothing is encrypted"),
        (True, True, ""),
    ],
)
def test_beyond_loopback_metrics_need_tls_and_tokens(
    files: Certificates, *, tls: bool, tokens: bool, danger: str
) -> None:
    given = {"metrics.listen": "0.0.0.0:0"} | (TOKENS if tokens else {})
    settings = BrokerSettings(given | ({"metrics.tls.cert": str(files.server)} if tls else {}))
    if danger:
        with pytest.raises(ConfigError, match=f"beyond loopback, and {danger}"):
            open_metrics(settings, insecure=False)

    endpoint = open_metrics(settings, insecure=bool(danger))

    address = endpoint.address
    exposed = [f"broker, metrics at {address}: {danger}"] if danger else []
    assert _exposed((), endpoint) == exposed
    endpoint.close()

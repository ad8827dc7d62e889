"""Logins on a connection: the gate, the mechanisms, failures, and logins that are repeated."""

import base64
import hashlib
import hmac
import json
import logging
import threading
from datetime import timedelta
from typing import Any

import pytest

from duolog.broker.identity import logins
from duolog.broker.identity.login import FAILED
from duolog.broker.requests.request_log import RequestLog
from duolog.core.units import SECOND_MS
from duolog.security.credentials.scram import ScramMechanism, salted_password
from duolog.security.credentials.tokens import Token, digest_of, new_token
from duolog.security.identity.principal import ANONYMOUS, Principal
from duolog.security.logins.login_limits import BURST
from duolog.security.records.records import TokenChange

HANDSHAKE, AUTHENTICATE, API_VERSIONS, METADATA, ALTER_SCRAM = 17, 36, 18, 3, 51
SHA_256 = ScramMechanism.SCRAM_SHA_256
ALICE = Principal("User", "alice")
RIGHT = "pencil"
ALL = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"


@pytest.fixture
def gated(open_harness: Any) -> Any:
    """A broker whose listener asks for a login, with a user alice."""
    return gated_broker(open_harness)


def gated_broker(open_harness: Any, **settings: str) -> Any:
    harness = open_harness(
        sasl_enabled_mechanisms=ALL,
        connection_failed_authentication_delay_ms="0",
        **settings,
    )
    harness.broker.security.load()
    admin = harness.client()
    answer = admin.ask(
        ALTER_SCRAM, 0, deletions=[], upsertions=[upsertion("alice"), upsertion("carol")]
    )
    assert [row.error_code for row in answer.results] == [0, 0]
    harness.broker.entrances.gated.add("")
    return harness


def upsertion(user: str) -> dict[str, object]:
    salted = salted_password(SHA_256, RIGHT, b"salt", 4096)
    return {
        "name": user,
        "mechanism": 1,
        "iterations": 4096,
        "salt": b"salt",
        "salted_password": salted,
    }


def handshake(client: Any, mechanism: str = "PLAIN") -> Any:
    return client.ask(HANDSHAKE, 1, mechanism=mechanism)


def authenticate(client: Any, data: bytes) -> Any:
    return client.ask(AUTHENTICATE, 2, auth_bytes=data)


def plain(client: Any, user: str = "alice", typed: str = RIGHT) -> Any:
    assert handshake(client).error_code == 0
    return authenticate(client, f"\0{user}\0{typed}".encode())


def scram(client: Any, user: str = "alice", typed: str = RIGHT) -> Any:
    assert handshake(client, "SCRAM-SHA-256").error_code == 0
    bare = f"n={user},r=clientnonce"
    server_first = authenticate(client, f"n,,{bare}".encode()).auth_bytes.decode()
    fields = dict(part.split("=", 1) for part in server_first.split(","))
    salted = salted_password(SHA_256, typed, base64.b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    unproved = f"c=biws,r={fields['r']}"
    message = f"{bare},{server_first},{unproved}".encode()
    signature = hmac.digest(hashlib.sha256(client_key).digest(), message, "sha256")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return authenticate(client, f"{unproved},p={base64.b64encode(proof).decode()}".encode())


def closes(harness: Any, client: Any, clock: "StoppedClock | None" = None) -> bool:
    """Turn the loop until the broker has closed the connection."""
    if clock is not None:
        harness.turn()
        clock.now += 1
    harness.turn_until(lambda: client.connection.closed)
    return True


def logged_in(client: Any) -> bool:
    return bool(client.ask(METADATA, 12, topics=[]).brokers)


def test_before_a_login_only_three_apis_are_served(gated: Any) -> None:
    client = gated.client()
    assert client.ask(API_VERSIONS, 0).error_code == 0
    assert handshake(client).error_code == 0

    client.send(METADATA, 12, topics=[])

    assert closes(gated, client)
    assert client.drain() == 0


@pytest.mark.parametrize("key", [0, 1, 10, 19, 29, 30, 50, 51, 60])
def test_every_other_api_closes_the_connection_without_an_answer(gated: Any, key: int) -> None:
    client = gated.client()
    version = next(api for api in gated.broker.router.apis if api.key == key).versions[-1]
    head = key.to_bytes(2) + version.to_bytes(2) + (0).to_bytes(4) + b"\xff\xff\0\0\0"
    client.send_bytes(len(head).to_bytes(4) + head)

    assert closes(gated, client)
    assert client.drain() == 0


@pytest.mark.parametrize("login", [plain, scram])
def test_the_right_password_opens_the_gate(gated: Any, login: Any) -> None:
    client = gated.client()
    assert client.connection.identity.principal == ANONYMOUS

    answer = login(client)

    assert (answer.error_code, answer.session_lifetime) == (0, timedelta(0))
    assert client.connection.identity.principal == ALICE
    assert logged_in(client)


def test_a_bearer_token_opens_the_gate_until_it_expires(gated: Any) -> None:
    text = new_token(bytes(32))
    expires_at_ms = gated.broker.clock.now_ms() + 3600 * SECOND_MS
    token = Token(digest_of(text), ALICE, 0, expires_at_ms)
    gated.broker.security.state.apply(TokenChange(token.token_id, token))
    client = gated.client()
    assert handshake(client, "OAUTHBEARER").error_code == 0

    answer = authenticate(client, f"n,,\x01auth=Bearer {text}\x01\x01".encode())

    assert answer.error_code == 0
    assert timedelta(seconds=3590) < answer.session_lifetime <= timedelta(hours=1)
    assert client.connection.identity.principal == ALICE


def test_a_token_of_another_issuer_is_refused_without_a_configured_one(gated: Any) -> None:
    client = gated.client()
    handshake(client, "OAUTHBEARER")
    unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."

    refused = authenticate(client, f"n,,\x01auth=Bearer {unsigned}\x01\x01".encode())
    failed = authenticate(client, b"\x01")

    assert b"invalid_token" in refused.auth_bytes
    assert failed.error_code == 58


@pytest.mark.parametrize("login", [plain, scram])
@pytest.mark.parametrize(("user", "typed"), [("alice", "wrong"), ("nobody", RIGHT)])
def test_every_failure_has_one_code_and_text_and_closes_the_connection(
    gated: Any, login: Any, user: str, typed: str
) -> None:
    client = gated.client()

    answer = login(client, user, typed)

    assert (answer.error_code, answer.error_message) == (58, FAILED)
    assert answer.auth_bytes == b""
    assert client.connection.identity.principal == ANONYMOUS
    assert closes(gated, client)


def test_requests_after_a_failed_login_are_not_served(gated: Any) -> None:
    """Sent in one piece: the gate must not open for what is already in the buffer."""
    client = gated.client()
    frames = [
        client.frame(HANDSHAKE, 1, mechanism="PLAIN"),
        client.frame(AUTHENTICATE, 2, auth_bytes=b"\0alice\0wrong"),
        client.frame(METADATA, 12, topics=[]),
    ]
    client.send_bytes(b"".join(frames))
    for key, version in ((HANDSHAKE, 1), (AUTHENTICATE, 2)):
        client.expect(key, version)

    assert client.receive().error_code == 0
    assert client.receive().error_code == 58
    assert closes(gated, client)
    assert client.drain() == 0


def test_requests_sent_together_with_a_login_are_served_after_it(gated: Any) -> None:
    client = gated.client()
    frames = [
        client.frame(HANDSHAKE, 1, mechanism="PLAIN"),
        client.frame(AUTHENTICATE, 2, auth_bytes=b"\0alice\0pencil"),
        client.frame(METADATA, 12, topics=[]),
    ]
    client.send_bytes(b"".join(frames))
    for key, version in ((HANDSHAKE, 1), (AUTHENTICATE, 2), (METADATA, 12)):
        client.expect(key, version)

    assert client.receive().error_code == 0
    assert client.receive().error_code == 0
    assert client.receive().brokers


@pytest.mark.parametrize("mechanism", ["GSSAPI", "", "scram-sha-256", "SCRAM-SHA-1"])
def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are(
    gated: Any, mechanism: str
) -> None:
    client = gated.client()

    answer = handshake(client, mechanism)

    assert answer.error_code == 33
    assert list(answer.mechanisms) == ALL.split(",")
    assert closes(gated, client)


def test_a_disabled_mechanism_cannot_be_chosen(open_harness: Any) -> None:
    harness = open_harness(sasl_enabled_mechanisms="SCRAM-SHA-512")
    harness.broker.entrances.gated.add("")

    assert handshake(harness.client(), "PLAIN").error_code == 33
    assert handshake(harness.client(), "SCRAM-SHA-256").error_code == 33


def test_authenticate_without_handshake_is_refused(gated: Any) -> None:
    client = gated.client()

    assert authenticate(client, b"\0alice\0pencil").error_code == 34
    assert closes(gated, client)


def test_a_second_handshake_during_a_login_is_refused(gated: Any) -> None:
    client = gated.client()
    handshake(client)

    assert handshake(client, "SCRAM-SHA-256").error_code == 34
    assert closes(gated, client)


def test_the_handshake_before_raw_messages_is_refused_by_closing(gated: Any) -> None:
    client = gated.client()
    client.send(HANDSHAKE, 0, mechanism="PLAIN")

    assert closes(gated, client)


def test_on_a_listener_without_login_both_apis_answer_as_kafka_does(harness: Any) -> None:
    client = harness.client()

    assert handshake(client).error_code == 34
    assert authenticate(client, b"").error_code == 34
    assert logged_in(client)


class StoppedClock:
    """The monotonic time of a clock, moved by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: Any) -> None:
        self.now = clock.monotonic()
        monkeypatch.setattr(clock, "monotonic", lambda: self.now)


def test_an_expired_session_serves_only_another_login(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-368."""
    harness = gated_broker(open_harness, connections_max_reauth_ms="60000")
    again, other = harness.client(), harness.client()
    assert plain(again).session_lifetime == timedelta(minutes=1)
    plain(other)
    clock = StoppedClock(monkeypatch, harness.broker.clock)

    clock.now += 59
    harness.turn()
    assert logged_in(again)
    clock.now += 2
    harness.turn()
    assert plain(again).error_code == 0
    assert logged_in(again)
    other.send(METADATA, 12, topics=[])
    assert closes(harness, other)


def test_a_login_can_be_repeated_among_other_requests(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = gated_broker(open_harness, connections_max_reauth_ms="60000")
    client = harness.client()
    plain(client)
    clock = StoppedClock(monkeypatch, harness.broker.clock)
    clock.now += 30
    asked: list[tuple[int, int, dict[str, Any]]] = [
        (METADATA, 12, {"topics": []}),
        (HANDSHAKE, 1, {"mechanism": "PLAIN"}),
        (METADATA, 12, {"topics": []}),
        (AUTHENTICATE, 2, {"auth_bytes": b"\0alice\0pencil"}),
        (METADATA, 12, {"topics": []}),
    ]
    client.send_bytes(
        b"".join(client.frame(key, version, **fields) for key, version, fields in asked)
    )
    for key, version, _ in asked:
        client.expect(key, version)

    answers = [client.receive() for _ in asked]

    assert [bool(answers[place].brokers) for place in (0, 2, 4)] == [True] * 3
    assert [answers[place].error_code for place in (1, 3)] == [0, 0]
    clock.now += 59  # The first session would have expired.
    harness.turn()
    assert logged_in(client)


@pytest.mark.parametrize("change", ["principal", "mechanism"])
def test_a_repeated_login_cannot_change_who_or_how(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    harness = gated_broker(open_harness, connections_max_reauth_ms="60000")
    harness.broker.entrances.gated.clear()
    harness.client().ask(ALTER_SCRAM, 0, deletions=[], upsertions=[upsertion("bob")])
    harness.broker.entrances.gated.add("")
    client = harness.client()
    plain(client)
    clock = StoppedClock(monkeypatch, harness.broker.clock)
    clock.now += 30

    answer = plain(client, "bob") if change == "principal" else scram(client)

    assert answer.error_code == 58
    assert closes(harness, client, clock)


def test_a_login_is_not_repeated_within_a_second(gated: Any) -> None:
    client = gated.client()
    plain(client)

    assert handshake(client).error_code == 34


def test_a_user_that_failed_often_is_refused_for_a_while_even_with_the_right_password(
    gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = StoppedClock(monkeypatch, gated.broker.clock)
    for _ in range(BURST):
        assert plain(gated.client(), typed="wrong").error_code == 58

    assert plain(gated.client()).error_code == 58
    assert scram(gated.client()).error_code == 58
    assert plain(gated.client(), "carol").error_code == 0, "others are not affected"
    clock.now += 1.5
    assert plain(gated.client()).error_code == 0


def test_a_failed_login_is_answered_after_the_delay(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = gated_broker(open_harness)
    harness.broker.settings.change(
        default={"connection.failed.authentication.delay.ms": "5000"}, own={}
    )
    clock = StoppedClock(monkeypatch, harness.broker.clock)
    client = harness.client()
    handshake(client, "SCRAM-SHA-256")
    client.send(AUTHENTICATE, 2, auth_bytes=b"nonsense")

    client.receive_nothing()
    assert not client.connection.closed
    clock.now += 5.1

    assert client.receive().error_code == 58
    assert closes(harness, client, clock)


def test_passwords_are_not_derived_on_the_loop(gated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    derive = hashlib.pbkdf2_hmac

    def watched(*arguments: Any) -> bytes:
        threads.append(threading.current_thread().name)
        return derive(*arguments)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", watched)
    plain(gated.client())

    assert threads == ["background"]


def test_logins_fail_at_once_if_many_passwords_wait(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logins, "_WAITING_MAX", 2)
    gated = gated_broker(open_harness)
    caplog.set_level(logging.INFO, logger="duolog.audit")
    caplog.clear()
    held: list[Any] = []
    passwords = gated.broker.security.logins._passwords  # noqa: SLF001
    monkeypatch.setattr(passwords, "call", lambda work, done: held.append((work, done)))
    waiting = [gated.client() for _ in range(2)]
    for client in waiting:
        assert handshake(client).error_code == 0
        client.send(AUTHENTICATE, 2, auth_bytes=b"\0alice\0pencil")
    gated.turn_until(lambda: len(held) == 2)

    refused = plain(gated.client())
    for work, done in held:
        done(work(), None)
    held.clear()

    assert refused.error_code == 58
    assert json.loads(caplog.messages[0])["reason"] == "too many passwords are being checked"
    assert [client.receive().error_code for client in waiting] == [0, 0]
    late = gated.client()
    assert handshake(late).error_code == 0
    late.send(AUTHENTICATE, 2, auth_bytes=b"\0alice\0pencil")
    gated.turn_until(lambda: held)


def test_a_client_that_leaves_leaves_no_login(gated: Any) -> None:
    client = gated.client()
    plain(client)
    logins = gated.broker.security.logins
    assert len(logins._logins) == 1  # noqa: SLF001

    client.socket.close()
    gated.turn_until(lambda: client.connection.closed)

    assert not logins._logins  # noqa: SLF001


def test_logins_are_in_the_audit_log_and_secrets_in_no_log(
    gated: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """CVE-2026-33558."""
    caplog.set_level(logging.DEBUG)
    RequestLog(*(router.routes for router in gated.broker.entrances.all())).toggle()
    plain(gated.client())
    plain(gated.client(), typed="Hush-Hush")
    scram(gated.client(), "mallory\u2028", "Hush-Hush")

    events = [
        json.loads(record.getMessage())
        for record in caplog.records
        if record.name == "duolog.audit"
    ]
    assert [(e["principal"], e["outcome"]) for e in events] == [
        ("User:alice", "success"),
        ("User:alice", "failure"),
        ("User:mallory\u2028", "failure"),
    ]
    assert events[1]["reason"] == "wrong password or unknown user"
    everything = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "Hush" not in everything
    assert RIGHT not in everything
    assert "***" in everything


def test_a_listener_accepts_its_own_mechanisms_for_its_own_time(open_harness: Any) -> None:
    harness = gated_broker(
        open_harness,
        listener_name_inside_sasl_enabled_mechanisms="PLAIN",
        listener_name_inside_connections_max_reauth_ms="60000",
    )
    harness.broker.entrances.gated.add("INSIDE")
    inside, outside = harness.client(), harness.client()
    inside.connection.listener = "INSIDE"

    assert plain(inside).session_lifetime == timedelta(seconds=60)
    assert plain(outside).session_lifetime == timedelta(0)
    other = harness.client()
    other.connection.listener = "INSIDE"
    refused = handshake(other, "SCRAM-SHA-256")
    assert (refused.error_code, list(refused.mechanisms)) == (33, ["PLAIN"])
    assert closes(harness, other)


def test_a_large_request_before_the_login_closes_the_connection(gated: Any) -> None:
    client = gated.client()
    client.socket.send((128 * 1024 + 1).to_bytes(4) + (36).to_bytes(2) + bytes(20))

    assert closes(gated, client)


def test_a_login_takes_the_connection_out_of_those_that_must_log_in(gated: Any) -> None:
    client = gated.client()
    waiting = gated.broker.connections.unauthenticated
    waiting.add(client.connection)

    plain(client)

    assert client.connection not in waiting

"""Attacks on logins: guesses sent all at once, and what an unknown client can learn or fill."""

import base64
import hashlib
import logging
import threading
from typing import Any

import pytest

from duolog.broker.identity import logins
from duolog.security.identity.principal import ANONYMOUS
from duolog.security.logins.login_limits import BURST
from unit.broker.identity.test_logins import (
    ALL,
    ALTER_SCRAM,
    AUTHENTICATE,
    HANDSHAKE,
    METADATA,
    RIGHT,
    StoppedClock,
    authenticate,
    closes,
    gated_broker,
    handshake,
    plain,
    upsertion,
)


@pytest.fixture
def gated(open_harness: Any) -> Any:
    """A broker whose listener asks for a login, with a user alice."""
    return gated_broker(open_harness)


def test_guesses_that_are_sent_all_at_once_learn_no_more_than_others(
    gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are checked before the first failure is counted."""
    StoppedClock(monkeypatch, gated.broker.clock)
    derive, sent = hashlib.pbkdf2_hmac, threading.Event()

    def late(*arguments: Any) -> bytes:
        assert sent.wait(60)
        return derive(*arguments)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", late)
    guesses = ["wrong"] * (BURST + 5) + [RIGHT]
    clients = [gated.client() for _ in guesses]
    for client in clients:
        assert handshake(client).error_code == 0

    for count, (client, guess) in enumerate(zip(clients, guesses, strict=True), start=1):
        client.send(AUTHENTICATE, 2, auth_bytes=f"\0alice\0{guess}".encode())
        gated.turn_until(lambda count=count: len(gated.broker.security.logins._places) == count)  # noqa: SLF001
    sent.set()

    assert [client.receive().error_code for client in clients] == [58] * len(guesses)


def test_an_address_that_fills_the_places_of_passwords_keeps_no_other_one_out(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "_WAITING_MAX", 4)
    gated = gated_broker(open_harness)
    derive, sent = hashlib.pbkdf2_hmac, threading.Event()

    def late(*arguments: Any) -> bytes:
        assert sent.wait(60)
        return derive(*arguments)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", late)
    flood, honest = [gated.client() for _ in range(4)], gated.client()
    honest.connection.host = "192.0.2.7"
    for client in (*flood, honest):
        assert handshake(client).error_code == 0
    waiting = gated.broker.security.logins._places  # noqa: SLF001
    for count, client in enumerate(flood, start=1):
        client.send(AUTHENTICATE, 2, auth_bytes=b"\0alice\0wrong")
        gated.turn_until(lambda count=count: len(waiting) == count)

    honest.send(AUTHENTICATE, 2, auth_bytes=f"\0alice\0{RIGHT}".encode())

    assert flood[-1].receive().error_code == 58, "the newest of them made room, at once"
    sent.set()
    assert honest.receive().error_code == 0
    assert [client.receive().error_code for client in flood[:-1]] == [58] * 3
    assert len(waiting) == 0


def test_logins_that_found_no_place_do_not_count_as_guesses(
    open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many programs with the right password may connect again together, from one address."""
    monkeypatch.setattr(logins, "_WAITING_MAX", 4)
    gated = gated_broker(open_harness)
    StoppedClock(monkeypatch, gated.broker.clock)
    derive, sent = hashlib.pbkdf2_hmac, threading.Event()

    def late(*arguments: Any) -> bytes:
        assert sent.wait(60)
        return derive(*arguments)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", late)
    clients = [gated.client() for _ in range(BURST + 5)]
    for client in clients:
        assert handshake(client).error_code == 0
    waiting = gated.broker.security.logins._places  # noqa: SLF001
    for count, client in enumerate(clients, start=1):
        client.send(AUTHENTICATE, 2, auth_bytes=f"\0alice\0{RIGHT}".encode())
        if count <= waiting.places:
            gated.turn_until(lambda count=count: len(waiting) == count)
    refused = [client.receive().error_code for client in clients[waiting.places :]]

    sent.set()

    assert set(refused) == {58}
    assert [client.receive().error_code for client in clients[: waiting.places]] == [0] * 4


def test_logins_that_are_refused_unchecked_do_not_lengthen_the_refusal(
    gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs with the right password retry more than once a second, all together."""
    clock = StoppedClock(monkeypatch, gated.broker.clock)
    for _ in range(BURST):
        assert plain(gated.client(), typed="wrong").error_code == 58

    codes = []
    for _ in range(4):
        clock.now += 0.4
        codes.append(plain(gated.client()).error_code)

    assert codes == [58, 58, 0, 0]


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [("PLAIN", "\0{name}\0pencil"), ("SCRAM-SHA-256", "n,,n={name},r=nonce")],
)
def test_names_that_no_user_can_have_are_kept_nowhere(
    gated: Any, mechanism: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Thousands of failed logins are remembered by name, and each is a line in the log."""
    caplog.set_level(logging.INFO)
    client = gated.client()
    handshake(client, mechanism)

    answer = authenticate(client, message.format(name="a" * 3000).encode())

    assert answer.error_code == 58
    assert "a" * 300 not in caplog.text
    assert not gated.broker.security.logins.limits._failures  # noqa: SLF001


def test_nothing_is_served_after_a_refused_handshake_in_the_same_piece(gated: Any) -> None:
    assert plain(gated.client()).error_code == 0, "so that no request waits for its schema"
    client = gated.client()
    asked: list[tuple[int, int, dict[str, Any]]] = [
        (HANDSHAKE, 1, {"mechanism": "GSSAPI"}),
        (HANDSHAKE, 1, {"mechanism": "PLAIN"}),
        (AUTHENTICATE, 2, {"auth_bytes": b"\0alice\0pencil"}),
        (METADATA, 12, {"topics": []}),
    ]
    client.send_bytes(b"".join(client.frame(key, version, **row) for key, version, row in asked))
    client.expect(HANDSHAKE, 1)

    assert client.receive().error_code == 33
    assert closes(gated, client)
    assert client.drain() == 0
    assert client.connection.identity.principal == ANONYMOUS


@pytest.mark.parametrize("salt", [b"s" * 64, b"1x9f0m3k2j5h7g8d6s4a2p0o9i", b"\xff" * 24])
def test_an_unknown_user_looks_like_those_of_the_tool_that_made_the_others(
    open_harness: Any, salt: bytes
) -> None:
    """librdkafka makes salts of 64 bytes, Java a number of 130 bits as text."""
    harness = open_harness(sasl_enabled_mechanisms=ALL)
    harness.broker.security.load()
    users = [{**upsertion(name), "salt": salt} for name in ("alice", "bob")]
    harness.client().ask(ALTER_SCRAM, 0, deletions=[], upsertions=users)
    harness.broker.entrances.gated.add("")

    salts = []
    for name in ("alice", "nobody", "nobody"):
        client = harness.client()
        handshake(client, "SCRAM-SHA-256")
        first = authenticate(client, f"n,,n={name},r=nonce".encode()).auth_bytes.decode()
        salts.append(base64.b64decode(dict(part.split("=", 1) for part in first.split(","))["s"]))

    known, unknown, again = salts
    assert known == salt
    assert unknown == again != known
    if salt.isalnum() and len(salt) == 26:
        assert len(unknown) in {25, 26}
        assert unknown.decode().isalnum()
        assert unknown.islower() or unknown.isdigit()
    else:
        assert len(unknown) == len(known)

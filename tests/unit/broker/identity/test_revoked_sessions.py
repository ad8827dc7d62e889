"""Sessions end when their user is removed or their token is revoked."""

import logging
from typing import Any

import pytest

from duolog.security.credentials.scram import ScramMechanism, salted_password
from duolog.security.credentials.tokens import Token, digest_of, new_token
from duolog.security.identity.principal import ANONYMOUS, Identity
from duolog.security.records.records import TokenChange
from duolog.security.sasl.exchange import Slow, Success
from unit.broker.identity.test_logins import (
    ALICE,
    ALTER_SCRAM,
    AUTHENTICATE,
    METADATA,
    RIGHT,
    authenticate,
    closes,
    gated_broker,
    handshake,
    logged_in,
    plain,
    scram,
    upsertion,
)

OPERATOR = Identity(ANONYMOUS, "localhost")


@pytest.fixture
def gated(open_harness: Any) -> Any:
    return gated_broker(open_harness)


def alter(client: Any, **request: Any) -> list[int]:
    answer = client.ask(ALTER_SCRAM, 0, **{"deletions": [], "upsertions": []} | request)
    return [row.error_code for row in answer.results]


def deletion(user: str, mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256) -> Any:
    return {"name": user, "mechanism": mechanism}


def change_token(gated: Any, token_id: str, token: Token | None) -> None:
    done: list[Exception | None] = []
    gated.broker.security.append(OPERATOR, [TokenChange(token_id, token)], done.append)
    gated.turn_until(lambda: bool(done))
    assert done == [None]


def bearer(gated: Any, text: str) -> Any:
    client = gated.client()
    assert handshake(client, "OAUTHBEARER").error_code == 0
    assert authenticate(client, f"n,,\x01auth=Bearer {text}\x01\x01".encode()).error_code == 0
    return client


@pytest.mark.parametrize("login", [plain, scram])
def test_removing_a_user_ends_its_sessions_and_no_others(
    gated: Any, login: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A removed user could write until its client closed the connection."""
    alice, carol = gated.client(), gated.client()
    login(alice)
    plain(carol, "carol")
    caplog.set_level(logging.INFO, "duolog.broker.network.connection")

    assert alter(carol, deletions=[deletion("alice")]) == [0]

    assert closes(gated, alice)
    assert "the user was removed" in [getattr(each, "reason", "") for each in caplog.records]
    assert logged_in(carol)


def test_a_user_that_removes_itself_gets_the_answer(gated: Any) -> None:
    client = gated.client()
    plain(client)

    assert alter(client, deletions=[deletion("alice")]) == [0]

    assert closes(gated, client)


def test_a_user_with_another_credential_keeps_its_sessions(gated: Any) -> None:
    alice, carol = gated.client(), gated.client()
    plain(carol, "carol")
    longer = ScramMechanism.SCRAM_SHA_512
    salted = salted_password(longer, RIGHT, b"salt", 4096)
    another = {**upsertion("alice"), "mechanism": longer, "salted_password": salted}
    assert alter(carol, upsertions=[another]) == [0]
    plain(alice)

    assert alter(carol, deletions=[deletion("alice")]) == [0]

    assert logged_in(alice)


def test_a_new_password_ends_no_session(gated: Any) -> None:
    alice, carol = gated.client(), gated.client()
    plain(alice)
    plain(carol, "carol")

    assert alter(carol, upsertions=[upsertion("alice")]) == [0]

    assert logged_in(alice)


def test_nothing_is_served_after_the_removal_although_the_connection_is_still_open(
    gated: Any,
) -> None:
    alice, carol = gated.client(), gated.client()
    plain(alice)
    plain(carol, "carol")
    assert alter(carol, deletions=[deletion("alice")]) == [0]

    alice.send(METADATA, 12, topics=[])
    assert closes(gated, alice)

    assert alice.drain() == 0


def test_revoking_a_token_ends_its_sessions_and_those_of_no_other_token(gated: Any) -> None:
    texts = [new_token(bytes([number]) * 32) for number in (1, 2)]
    tokens = [Token(digest_of(text), ALICE, 0, None) for text in texts]
    for token in tokens:
        change_token(gated, token.token_id, token)
    first, second = (bearer(gated, text) for text in texts)
    by_password = gated.client()
    plain(by_password)

    change_token(gated, tokens[0].token_id, None)

    assert closes(gated, first)
    assert logged_in(second)
    assert logged_in(by_password)


def test_removing_a_user_ends_the_sessions_of_its_tokens(gated: Any) -> None:
    text = new_token(bytes(32))
    token = Token(digest_of(text), ALICE, 0, None)
    change_token(gated, token.token_id, token)
    client, carol = bearer(gated, text), gated.client()
    plain(carol, "carol")

    assert alter(carol, deletions=[deletion("alice")]) == [0]

    assert closes(gated, client)


def test_a_session_by_a_token_does_not_depend_on_a_password(gated: Any) -> None:
    """An issuer of tokens names users whom the broker has never had, or has removed."""
    text = new_token(bytes(32))
    token = Token(digest_of(text), ALICE, 0, None)
    change_token(gated, token.token_id, token)
    client, other = bearer(gated, text), gated.client()
    plain(other)
    logins = gated.broker.security.logins

    assert not logins.of(client.connection).is_of_user("alice")
    assert logins.of(other.connection).is_of_user("alice")


def test_a_password_that_is_being_checked_when_its_user_is_removed_opens_no_session(
    gated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, carol = gated.client(), gated.client()
    plain(carol, "carol")
    assert handshake(alice).error_code == 0
    checks: list[tuple[Slow, Any]] = []
    logins = gated.broker.security.logins
    monkeypatch.setattr(logins, "compute", lambda step, _host, done: checks.append((step, done)))
    alice.send(AUTHENTICATE, 2, auth_bytes=b"\0alice\0" + RIGHT.encode())
    gated.turn_until(lambda: bool(checks))
    [(step, done)] = checks
    right = step.work()
    assert isinstance(right, Success)

    assert alter(carol, deletions=[deletion("alice")]) == [0]
    done(right)

    assert closes(gated, alice)
    assert alice.connection.identity.principal == ANONYMOUS

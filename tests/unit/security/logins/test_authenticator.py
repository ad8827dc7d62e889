"""Logins by password and token over one store of users."""

import asyncio
import json
import logging
from collections.abc import Iterator

import pytest

from duolog.security.credentials.scram import ScramMechanism, credential, salted_password
from duolog.security.credentials.tokens import Token, digest_of, new_token
from duolog.security.identity.principal import Identity, Principal
from duolog.security.logins import authenticator as module
from duolog.security.logins.audit import Audit
from duolog.security.logins.authenticator import (
    REMEMBER_S,
    LoginFailed,
    StoreAuthenticator,
    TooManyLogins,
)
from duolog.security.logins.login_limits import BURST, LoginLimits
from duolog.security.logins.mechanisms import Mechanisms, no_sasl
from duolog.security.records.records import ScramChange, TokenChange
from duolog.security.sasl.plain_exchange import Stored, check_password
from duolog.security.state.security_state import SecurityState
from duolog.testing.clock import FakeClock

HOST = "10.0.0.7"
SHA_512 = ScramMechanism.SCRAM_SHA_512
ALICE = Identity(Principal("User", "alice"), HOST)


class World:
    """A store with the user alice, and an authenticator over it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.state = SecurityState()
        self.set_password("alice", "pencil")
        self.mechanisms = Mechanisms(self.state, no_sasl, self.clock.now_ms)
        self.authenticator = StoreAuthenticator(
            lambda: self.mechanisms,
            LoginLimits(self.clock),
            Audit(self.clock),
            self.clock,
            "registry",
        )
        self.checked: list[Stored] = []

    def set_password(self, user: str, password: str | None) -> None:
        stored = None
        if password is not None:
            salted = salted_password(SHA_512, password, b"salt", 4096)
            stored = credential(SHA_512, salted, b"salt", 4096)
        self.state.apply(ScramChange(user, SHA_512, stored))

    def password(self, user: str, password: str, host: str = HOST) -> Identity:
        return asyncio.run(self.authenticator.by_password(user, password, host))

    def token(self, text: str) -> Identity:
        return asyncio.run(self.authenticator.by_token(text, HOST))

    def fails(self, user: str, password: str, host: str = HOST) -> None:
        with pytest.raises(LoginFailed):
            self.password(user, password, host)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World()

    def check(stored: Stored, user: str, password: str) -> object:
        made.checked.append(stored)
        return check_password(stored, user, password)

    monkeypatch.setattr(module, "check_password", check)
    yield made
    made.authenticator.close()


def test_a_right_password_logs_in_and_a_wrong_one_does_not(world: World) -> None:
    assert world.password("alice", "pencil") == ALICE
    world.fails("alice", "Pencil")
    world.fails("alice", "")
    world.fails("", "pencil")
    world.fails("alice", "x" * 2000)


def test_an_unknown_user_costs_as_much_as_a_wrong_password(world: World) -> None:
    world.fails("alice", "wrong")
    world.fails("nobody", "wrong")

    known, unknown = world.checked
    assert not unknown.known
    assert unknown.mechanism is known.mechanism
    assert unknown.credential.iterations == known.credential.iterations


def test_a_right_password_is_remembered_for_a_time(world: World) -> None:
    for _ in range(3):
        world.password("alice", "pencil")
    assert len(world.checked) == 1

    world.clock.advance(REMEMBER_S + 1)
    world.password("alice", "pencil")

    assert len(world.checked) == 2


def test_a_name_may_not_borrow_the_remembered_password_of_another(world: World) -> None:
    world.password("alice", "pencil")

    world.fails("bob", "pencil")
    world.fails("alicep", "encil")
    world.fails("ali", "cepencil")


def test_a_changed_or_removed_password_counts_at_once(world: World) -> None:
    world.password("alice", "pencil")

    world.set_password("alice", "eraser")
    world.fails("alice", "pencil")
    assert world.password("alice", "eraser") == ALICE
    world.set_password("alice", None)

    world.fails("alice", "eraser")


def test_other_credentials_count_at_once(world: World) -> None:
    world.password("alice", "pencil")

    world.mechanisms = Mechanisms(SecurityState(), no_sasl, world.clock.now_ms)

    world.fails("alice", "pencil")


def test_a_user_who_failed_often_is_refused_there_and_nowhere_else(world: World) -> None:
    for _ in range(BURST):
        world.fails("alice", "wrong")
    checked = len(world.checked)

    world.fails("alice", "pencil")

    assert len(world.checked) == checked
    assert world.password("alice", "pencil", "10.0.0.8").host == "10.0.0.8"
    world.clock.advance(2)
    assert world.password("alice", "pencil") == ALICE


def test_a_known_client_is_not_locked_out_by_another_one_that_guesses(world: World) -> None:
    world.password("alice", "pencil")

    for _ in range(BURST):
        world.fails("alice", "wrong")

    assert world.password("alice", "pencil") == ALICE


def test_guesses_that_are_sent_at_once_are_limited_as_well(world: World) -> None:
    async def guess() -> list[object]:
        passwords = [*(f"wrong-{n}" for n in range(BURST + 5)), "pencil"]
        return await asyncio.gather(
            *(world.authenticator.by_password("alice", each, HOST) for each in passwords),
            return_exceptions=True,
        )

    assert all(isinstance(result, LoginFailed) for result in asyncio.run(guess()))


def test_passwords_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_MAX", 3)
    world = World()

    async def log_in() -> list[object]:
        tries = [world.authenticator.by_password(f"u{n}", "wrong", HOST) for n in range(5)]
        return await asyncio.gather(*tries, return_exceptions=True)

    kinds = [type(result) for result in asyncio.run(log_in())]

    assert kinds == [LoginFailed] * 3 + [TooManyLogins] * 2
    assert world.password("alice", "pencil") == ALICE
    world.authenticator.close()


def test_an_address_that_guesses_keeps_no_other_one_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_MAX", 3)
    world = World()

    async def log_in() -> list[object]:
        tries = [world.authenticator.by_password(f"u{n}", "wrong", HOST) for n in range(5)]
        honest = world.authenticator.by_password("alice", "pencil", "10.0.0.8")
        return await asyncio.gather(*tries, honest, return_exceptions=True)

    *guesses, honest = asyncio.run(log_in())

    assert honest == ALICE._replace(host="10.0.0.8")
    assert [type(guess) for guess in guesses] == [LoginFailed] * 2 + [TooManyLogins] * 3
    world.authenticator.close()


def test_a_token_logs_in_until_it_expires_or_is_revoked(world: World) -> None:
    text, other = new_token(b"a" * 32), new_token(b"b" * 32)
    expires_at_ms = world.clock.now_ms() + 1000
    for each, expiry in ((text, expires_at_ms), (other, None)):
        token = Token(digest_of(each), ALICE.principal, 0, expiry)
        world.state.apply(TokenChange(token.token_id, token))

    assert world.token(text) == world.token(other) == ALICE
    world.clock.advance(1)
    with pytest.raises(LoginFailed):
        world.token(text)
    world.state.apply(TokenChange(token.token_id, None))
    with pytest.raises(LoginFailed):
        world.token(other)


@pytest.mark.parametrize("text", ["", "duolog_", "a.b.c", new_token(b"c" * 32)])
def test_other_tokens_are_refused(world: World, text: str) -> None:
    with pytest.raises(LoginFailed):
        world.token(text)


def test_failures_are_in_the_audit_log_without_secrets(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duolog.audit")

    world.fails("alice", "s3cret")
    with pytest.raises(LoginFailed):
        world.token("duolog_s3cret")

    rows = [json.loads(record.getMessage()) for record in caplog.records]
    assert [(row["event"], row["outcome"], row["mechanism"]) for row in rows] == [
        ("login", "failure", "PASSWORD"),
        ("login", "failure", "TOKEN"),
    ]
    assert rows[0]["principal"] == "User:alice"
    assert rows[0]["listener"] == "registry"
    assert "s3cret" not in caplog.text

"""PLAIN exchanges."""

import pytest

from duolog.security.credentials.scram import (
    ScramCredential,
    ScramMechanism,
    credential,
    password_matches,
    salted_password,
)
from duolog.security.identity.principal import Principal
from duolog.security.sasl import plain_exchange
from duolog.security.sasl.decoys import Form, decoy
from duolog.security.sasl.exchange import Failure, Slow, Success
from duolog.security.sasl.plain_exchange import PlainExchange, Stored

SHA_256 = ScramMechanism.SCRAM_SHA_256


def find(user: str) -> Stored:
    salt = b"salt"
    salted = salted_password(SHA_256, "pencil", salt, 4096)
    if user == "alice":
        return Stored(SHA_256, credential(SHA_256, salted, salt, 4096), known=True)
    return Stored(SHA_256, decoy(b"s" * 32, SHA_256, user, Form(4096)), known=False)


def authenticated(message: bytes) -> Success | Failure:
    answer = PlainExchange(find).step(message)
    if isinstance(answer, Slow):
        answer = answer.work()
    assert isinstance(answer, Success | Failure)
    return answer


@pytest.mark.parametrize("message", [b"\0alice\0pencil", b"alice\0alice\0pencil"])
def test_the_right_password_authenticates(message: bytes) -> None:
    assert authenticated(message) == Success(b"", Principal("User", "alice"))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\0alice\0",
        b"\0\0pencil",
        b"alice\0pencil",
        b"\0alice\0pencil\0",
        b"\0alice\0Pencil",
        b"\0alice\0pencil ",
        b"\0bob\0pencil",
        b"root\0alice\0pencil",
        b"\0alice\0\xff",
        b"\0alice\0" + b"p" * 10_000,
    ],
)
def test_everything_else_fails(message: bytes) -> None:
    assert isinstance(authenticated(message), Failure)


def test_a_long_message_is_refused_before_the_password_is_derived() -> None:
    for size in (4 * 1024 + 1, 100_000):
        message = b"\0alice\0".ljust(size, b"p")

        assert PlainExchange(find).step(message) == Failure("message is too long")


def test_an_unknown_user_costs_a_derivation_and_fails_as_a_wrong_password_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    derived: list[int] = []

    def counted(mechanism: ScramMechanism, stored: ScramCredential, password: str) -> bool:
        derived.append(stored.iterations)
        return password_matches(mechanism, stored, password)

    monkeypatch.setattr(plain_exchange, "password_matches", counted)
    unknown, wrong = authenticated(b"\0bob\0pencil"), authenticated(b"\0alice\0wrong")

    assert derived == [4096, 4096]
    assert isinstance(unknown, Failure)
    assert isinstance(wrong, Failure)
    assert unknown.reason == wrong.reason


def test_a_decoy_never_authenticates_even_with_matching_keys() -> None:
    stored = find("alice")._replace(known=False)

    answer = plain_exchange.check_password(stored, "alice", "pencil")

    assert isinstance(answer, Failure)

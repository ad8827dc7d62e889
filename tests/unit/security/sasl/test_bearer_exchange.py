"""OAUTHBEARER exchanges."""

import pytest

from duolog.security.identity.principal import Principal
from duolog.security.sasl.bearer_exchange import REFUSED, BearerExchange, InvalidToken
from duolog.security.sasl.exchange import Challenge, Failure, Success

ALICE = Principal("User", "alice")
GOOD = "good.token"


def verify(token: str) -> tuple[Principal, int | None]:
    if token != GOOD:
        raise InvalidToken("signature is wrong")
    return ALICE, 1_000


@pytest.mark.parametrize(
    "message",
    [
        b"n,,\x01auth=Bearer good.token\x01\x01",
        b"n,a=alice,\x01auth=Bearer good.token\x01\x01",
        b"n,,\x01auth=Bearer good.token\x01traceId=1\x01\x01",
    ],
)
def test_a_valid_token_authenticates_until_it_expires(message: bytes) -> None:
    assert BearerExchange(verify).step(message) == Success(b"", ALICE, 1_000)


def test_an_invalid_token_gets_the_answer_of_the_rfc_and_fails_then() -> None:
    exchange = BearerExchange(verify)

    assert exchange.step(b"n,,\x01auth=Bearer bad\x01\x01") == Challenge(REFUSED)
    assert exchange.step(b"\x01") == Failure("signature is wrong")


def test_a_valid_token_after_an_invalid_one_does_not_count() -> None:
    exchange = BearerExchange(verify)
    exchange.step(b"n,,\x01auth=Bearer bad\x01\x01")

    assert isinstance(exchange.step(b"n,,\x01auth=Bearer good.token\x01\x01"), Failure)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,auth=Bearer good.token",
        b"n,,\x01auth=Basic good.token\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01token=good.token\x01\x01",
        b"n,,\x01auth=Bearer good.token\x01auth=Bearer bad\x01\x01",
        b"n,a=root,\x01auth=Bearer good.token\x01\x01",
        b"n,,\x01auth=Bearer good.token\x01\x01\xff",
        b"p=tls,,\x01auth=Bearer good.token\x01\x01",
    ],
)
def test_a_malformed_message_fails(message: bytes) -> None:
    assert isinstance(BearerExchange(verify).step(message), Failure)

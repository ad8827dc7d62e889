"""The login of a server that the broker runs itself."""

import pytest

from duolog.security.identity.principal import USER
from duolog.security.logins.inner import INNER_PRINCIPAL, InnerExchanges, InnerLogin
from duolog.security.sasl.exchange import Failure, Success

LOGIN = InnerLogin("s3cret")


def step(message: bytes) -> object:
    exchange = InnerExchanges(LOGIN).begin("PLAIN")
    assert exchange is not None
    return exchange.step(message)


def test_the_login_is_a_principal_that_no_user_can_have() -> None:
    assert step(b"\0registry\0s3cret") == Success(b"", INNER_PRINCIPAL)
    assert INNER_PRINCIPAL.kind != USER


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\0registry\0",
        b"\0registry\0S3cret",
        b"\0admin\0s3cret",
        b"admin\0registry\0s3cret",
        b"\0registry\0s3cret\0",
        b"registry\0s3cret",
        b"\xff\0registry\0s3cret",
    ],
)
def test_everything_else_fails(message: bytes) -> None:
    assert isinstance(step(message), Failure)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER", "plain", ""])
def test_there_is_no_other_mechanism(mechanism: str) -> None:
    assert InnerExchanges(LOGIN).begin(mechanism) is None


def test_name_and_password_do_not_flow_into_each_other() -> None:
    assert LOGIN.matches("registry", "s3cret")
    assert not LOGIN.matches("registrys", "3cret")
    assert "s3cret" not in repr(LOGIN)

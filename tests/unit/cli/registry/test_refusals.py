"""Hints of refusals that are about the login, and about TLS, of a registry."""

import pytest

from duolog.cli.registry.refusals import refusals
from duolog.registry.client.requests import LoginRefused as Unauthorized
from duolog.registry.client.requests import Requests, Unanswered, addresses_of


def test_a_refused_login_is_also_about_a_user_that_was_given() -> None:
    """The hint said to name a user, although one was named with a wrong password."""
    with pytest.raises(Unauthorized) as refused, refusals("list the subjects"):
        raise Unauthorized("Unauthorized", 401)

    assert "--registry-token-file" in refused.value.hint
    assert "is wrong, or was removed" in refused.value.hint


@pytest.mark.parametrize(
    ("address", "error", "hint"),
    [
        ("https://a:1", OSError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version"), "write http://"),
        (
            "http://a:1",
            ConnectionResetError("Remote end closed connection without response"),
            "write https://",
        ),
        ("https://a:1", ConnectionResetError("Remote end closed connection without response"), "x"),
        ("http://a:1", ConnectionRefusedError(111, "Connection refused"), "x"),
    ],
)
def test_a_wrong_scheme_of_the_address_is_named(address: str, error: OSError, hint: str) -> None:
    def fail(*_request: object) -> object:
        raise error

    requests = Requests(addresses_of(address), fail, lambda _s: None, hint="x")  # type: ignore[arg-type]

    with pytest.raises(Unanswered) as raised:
        requests.get("/subjects")

    assert hint in raised.value.hint

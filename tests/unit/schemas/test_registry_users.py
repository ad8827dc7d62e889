"""Users of registries: taken out of addresses, and found again by address."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import ConfigError
from duolog.schemas.registry_users import (
    authorization,
    forget_users,
    keep_users,
    known_users,
    parts_of,
    user_of,
    without_user,
)


@pytest.fixture(autouse=True)
def no_users() -> Iterator[None]:
    yield
    forget_users("http://a:1,http://b:2/x,https://c")


def test_each_address_of_a_list_has_its_own_user() -> None:
    clean = keep_users("http://ann:one@a:1, http://bob:t%2Cw%40o@b:2/x/,https://c")

    assert clean == "http://a:1,http://b:2/x/,https://c"
    assert user_of("http://a:1") == "ann:one"
    assert user_of("http://b:2/x") == user_of("http://b:2/x/") == "bob:t,w@o"
    assert user_of("https://c") is None
    assert known_users()["http://b:2/x"] == "bob:t,w@o"


def test_a_separate_user_is_for_every_address_and_replaces_the_one_in_it() -> None:
    assert keep_users("http://ann:one@a:1,https://c", "eve:two") == "http://a:1,https://c"

    assert user_of("http://a:1") == user_of("https://c") == "eve:two"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://host:8081", ("http://host:8081", None)),
        ("http://ann@host", ("http://host", "ann:")),
        ("http://ann:a:b@host", ("http://host", "ann:a:b")),
        ("http://ann:p@w@[::1]:8081/x", ("http://[::1]:8081/x", "ann:p@w")),
    ],
)
def test_the_user_is_what_is_before_the_host(
    address: str, expected: tuple[str, str | None]
) -> None:
    assert without_user(address) == expected


@pytest.mark.parametrize(
    "address",
    [
        "http://ann:se/cret@host",
        "http://ann:se#cret@host",
        "http://ann:s@fe/secret@host",
        "ann:secret@host",
        "http://[ann:se@x",
    ],
)
def test_a_user_that_cannot_be_separated_is_an_error_that_does_not_repeat_it(address: str) -> None:
    with pytest.raises(ConfigError, match="has a user that cannot be read") as caught:
        keep_users(address)

    assert "cret" not in caught.value.render()
    assert "%2F" in caught.value.hint


def test_a_comma_in_a_password_separates_nothing() -> None:
    assert parts_of("http://ann:a,b@a:1,http://b") == ["http://ann:a,b@a:1", "http://b"]
    assert parts_of("http://a,b:2") == ["http://a", "b:2"]
    assert parts_of(" , ") == []


def test_a_header_is_made_for_a_user_only() -> None:
    assert authorization("us@er:p:w") == "Basic dXNAZXI6cDp3"
    assert authorization(None) == ""


def test_an_address_is_forgotten_with_and_without_a_slash() -> None:
    keep_users("http://ann:one@a:1,http://ann:one@b:2/x")

    forget_users("http://a:1/, http://b:2/x/")

    assert user_of("http://a:1") is None
    assert user_of("http://b:2/x") is None

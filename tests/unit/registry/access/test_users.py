"""The users file: what it says, and what is wrong with it."""

from pathlib import Path

import pytest

from duolog.core.errors import ConfigError
from duolog.registry.access.passwords import PasswordHash, hash_password
from duolog.registry.access.users import ANONYMOUS, read_users

HASH = hash_password("secret")


def users_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "users.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_user_reads_and_writes_what_the_patterns_include(tmp_path: Path) -> None:
    text = f'[users.a]\npassword = "{HASH}"\nread = ["x-*", ":.s:*"]\nwrite = ["y", "z-*"]\n'

    user = read_users(users_file(tmp_path, text))["a"].user

    assert [name for name in ("x-1", "x", ":.s:a", "y", "z-1", "w") if user.may_read(name)] == [
        "x-1",
        ":.s:a",
        "y",
        "z-1",
    ]
    assert [name for name in ("x-1", "y", "y2", "z-1") if user.may_write(name)] == ["y", "z-1"]
    assert not user.administers
    assert not user.reads_everything


def test_a_user_reads_everything_and_writes_nothing_by_default(tmp_path: Path) -> None:
    user = read_users(users_file(tmp_path, f'[users.a]\npassword = "{HASH}"\n'))["a"].user

    assert user.reads_everything
    assert user.may_read("anything")
    assert not user.may_write("anything")


def test_a_client_may_do_everything_without_users() -> None:
    assert ANONYMOUS.administers
    assert ANONYMOUS.may_write("anything")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[users", "is not TOML"),
        ("", "has no users"),
        ("[groups]\n", "has no users, or something else"),
        (f'[users.a]\npassword = "{HASH}"\n[other]\n', "has no users, or something else"),
        ("[users.a]\n", "has no password"),
        ("users = 1\n", "has no users"),
        ("[users]\na = 1\n", "has no password"),
        ('[users.a]\npassword = "secret"\n', "is not a hash"),
        (f'[users."a:b"]\npassword = "{HASH}"\n', "invalid name"),
        (f'[users.a]\npassword = "{HASH}"\nroles = []\n', 'unknown key "roles"'),
        (f'[users.a]\npassword = "{HASH}"\nread = "x"\n', "read is not a list"),
        (f'[users.a]\npassword = "{HASH}"\nwrite = [1]\n', "write is not a list"),
        (f'[users.a]\npassword = "{HASH}"\nread = ["a*b"]\n', "has a . before its end"),
    ],
)
def test_a_mistake_is_named_and_no_password_is_shown(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        read_users(users_file(tmp_path, text))

    assert HASH not in refused.value.render()
    assert "secret" not in refused.value.render()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        read_users(tmp_path / "missing.toml")


def test_only_the_password_matches_its_hash() -> None:
    hashed = PasswordHash(HASH)

    assert hashed.matches("secret")
    assert not hashed.matches("Secret")
    assert not hashed.matches("")
    assert hash_password("secret") != HASH


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "md5:16384:8:1:c2FsdA==:aGFzaA==",
        "scrypt:16384:8:1:c2FsdA==:",
        "scrypt:16384:8:1:!:aGFzaA==",
        "scrypt:16383:8:1:c2FsdA==:aGFzaA==",
        "scrypt:0:8:1:c2FsdA==:aGFzaA==",
        "scrypt:16384:0:1:c2FsdA==:aGFzaA==",
        "scrypt:16384:8:1000:c2FsdA==:aGFzaA==",
        "scrypt:1073741824:8:1:c2FsdA==:aGFzaA==",
        "scrypt:x:8:1:c2FsdA==:aGFzaA==",
    ],
)
def test_a_text_that_is_not_a_hash_or_costs_too_much_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        PasswordHash(text)

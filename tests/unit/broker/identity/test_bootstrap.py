"""The first administrator: created once, with all mechanisms, and never by accident."""

from pathlib import Path
from typing import Any

import pytest

from duolog.broker.bootstrapping import create_administrator
from duolog.broker.identity.bootstrap import Administrator, administrator_of
from duolog.core.errors import ConfigError
from duolog.security.credentials.scram import ScramMechanism, password_matches
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.records.records import ScramChange

PASSWORD = "of-the-administrator"  # noqa: S105 - of this test
ROOT = Administrator("root", PASSWORD)


@pytest.fixture
def secured(open_harness: Any) -> Any:
    harness = open_harness(authorizer_class_name="acl")
    harness.broker.security.load()
    return harness


def test_the_administrator_may_log_in_and_do_everything(secured: Any) -> None:
    assert create_administrator(secured.broker, ROOT)

    stored = secured.broker.security.state.users["root"]
    assert set(stored) == set(ScramMechanism)
    assert all(password_matches(each, stored[each], PASSWORD) for each in stored)
    assert stored[ScramMechanism.SCRAM_SHA_256].salt != stored[ScramMechanism.SCRAM_SHA_512].salt
    assert secured.broker.authorizer.super_user(Principal(USER, "root"))
    assert not secured.broker.authorizer.super_user(Principal(USER, "eve"))


def test_a_second_one_is_not_created_also_after_a_restart_and_a_removal(
    secured: Any, open_harness: Any
) -> None:
    assert create_administrator(secured.broker, ROOT)
    done: list[Exception | None] = []
    removal = [ScramChange("root", each, None) for each in ScramMechanism]
    client = Identity(Principal(USER, "root"), "127.0.0.1")
    secured.broker.security.append(client, removal, done.append)
    secured.turn_until(lambda: done)
    assert "root" not in secured.broker.security.state.users
    secured.stop()

    again = open_harness(authorizer_class_name="acl")
    again.broker.security.load()

    assert not create_administrator(again.broker, Administrator("eve", PASSWORD))
    assert not again.broker.security.state.users


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_the_password_is_the_line_of_the_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "password"
    path.write_bytes(f"{PASSWORD}{ending}".encode())

    found = administrator_of({"DUOLOG_ADMIN_PASSWORD_FILE": str(path), "DUOLOG_ADMIN_USER": "ann"})

    assert found == Administrator("ann", PASSWORD)
    assert PASSWORD not in repr(found)


def test_without_the_file_there_is_no_administrator() -> None:
    assert administrator_of({"DUOLOG_ADMIN_USER": "ann"}) is None


@pytest.mark.parametrize(
    "content", [b"", b"pencil", b"\xff" * 20, b"two lines\nof text", b" \t" * 9]
)
def test_an_unusable_password_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "password"
    path.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        administrator_of({"DUOLOG_ADMIN_PASSWORD_FILE": str(path)})

    assert caught.value.name == "DUOLOG_ADMIN_PASSWORD_FILE"
    assert not content or content.decode(errors="replace") not in caught.value.render()

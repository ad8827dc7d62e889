"""The token of the console: its file, and the cookies that it signs."""

import os
import stat
from pathlib import Path

import pytest

from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.server.access.console_token import ConsoleToken
from duolog.server.access.sessions import LIFE_S, cookie_of
from unit.server.users import Clock


def test_the_first_start_makes_a_token_that_only_the_owner_reads_and_the_next_finds_it(
    tmp_path: Path,
) -> None:
    first = ConsoleToken.of_directory(tmp_path / "data", SystemClock())

    path = tmp_path / "data/console-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(first.text) == 43
    assert ConsoleToken.of_directory(tmp_path / "data", SystemClock()).text == first.text
    assert os.listdir(path.parent) == ["console-token"]  # noqa: PTH208 - names of all files
    assert ConsoleToken.of_directory(tmp_path / "other", SystemClock()).text != first.text


@pytest.mark.parametrize("content", ["", "short", "x" * 40 + " y", "é" * 40, "\0" * 40])
def test_a_damaged_file_is_an_error_and_no_weak_token(tmp_path: Path, content: str) -> None:
    (tmp_path / "console-token").write_text(content, encoding="utf-8")

    with pytest.raises(ConfigError, match="is damaged") as raised:
        ConsoleToken.of_directory(tmp_path, SystemClock())

    assert "Remove the file" in (raised.value.hint or "")


def test_a_directory_that_cannot_be_used_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="cannot be read or written"):
        ConsoleToken.of_directory(tmp_path / "file", SystemClock())


def test_only_the_whole_token_matches() -> None:
    token = ConsoleToken("t" * 43, Clock())

    assert token.matches("t" * 43)
    for other in ("", "t" * 42, "t" * 44, "T" * 43, "t" * 42 + "é", "t" * 42 + "\udc80"):
        assert not token.matches(other)


def test_a_cookie_is_valid_until_its_life_ends_and_after_a_restart() -> None:
    clock = Clock()
    cookie = ConsoleToken("t" * 43, clock).cookie()
    restarted = ConsoleToken("t" * 43, clock)

    assert restarted.accepts(cookie)
    clock.now += LIFE_S - 1
    assert restarted.accepts(cookie)
    clock.now += 2
    assert not restarted.accepts(cookie)


def test_a_cookie_that_was_changed_or_signed_by_another_token_is_refused() -> None:
    clock = Clock()
    token = ConsoleToken("t" * 43, clock)
    expiry, _, signature = token.cookie().partition(".")

    assert not ConsoleToken("u" * 43, clock).accepts(token.cookie())
    assert not token.accepts(f"{int(expiry) + 1}.{signature}")
    assert not token.accepts(f"{expiry}.{signature[:-1]}")
    assert not token.accepts(f"{expiry}.")
    for other in ("", ".", "x", "x.y", f"x.{signature}", "\udc80.é", f"{expiry}.é"):
        assert not token.accepts(other)


def test_a_cookie_fits_into_what_the_server_reads_and_hides_the_token() -> None:
    cookie = ConsoleToken("t" * 43, SystemClock()).cookie()

    assert cookie_of(f"duolog_session={cookie}") == cookie
    assert "tttt" not in cookie

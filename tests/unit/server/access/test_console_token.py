"""The token of the console: its file, and the cookies that it signs."""

import os
import stat
from pathlib import Path

import pytest

from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.server.access.console_token import ConsoleToken
from duolog.server.access.session_cookie import session_cookie
from duolog.server.access.sessions import LIFE_S
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
    expiry, session, signature = token.cookie().split(".")

    assert not ConsoleToken("u" * 43, clock).accepts(token.cookie())
    assert not token.accepts(f"{int(expiry) + 1}.{session}.{signature}")
    assert not token.accepts(f"{expiry}.{session}x.{signature}")
    assert not token.accepts(f"{expiry}.{session}.{signature[:-1]}")
    assert not token.accepts(f"{expiry}.{session}.")
    assert not token.accepts(f"{expiry}.{signature}")
    for other in ("", ".", "..", "x", "x.y.z", f"x.y.{signature}", "\udc80.é", f"{expiry}.x.é"):
        assert not token.accepts(other)


def test_a_cookie_fits_into_what_the_server_reads_and_hides_the_token() -> None:
    token = ConsoleToken("t" * 43, SystemClock())
    cookie = token.cookie()
    of_server = session_cookie("localhost:8088", "", token.scope, secure=False)

    assert of_server.tokens(of_server.set(cookie, 60)) == (cookie,)
    for public in (cookie, token.scope, of_server.name):
        assert "tttt" not in public


def test_a_session_that_has_ended_is_refused_after_a_restart_too_and_no_other(
    tmp_path: Path,
) -> None:
    clock = Clock()
    token = ConsoleToken.of_directory(tmp_path, clock)
    mine, other = token.cookie(), token.cookie()

    assert token.end(mine)
    token.save()

    for server in (token, ConsoleToken.of_directory(tmp_path, clock)):
        assert not server.accepts(mine)
        assert server.accepts(other)
    assert stat.S_IMODE((tmp_path / "console-ended-sessions").stat().st_mode) == 0o600


def test_what_is_not_a_session_cannot_be_ended() -> None:
    token = ConsoleToken("t" * 43, Clock())
    cookie = token.cookie()

    assert not token.end(f"{cookie}x")
    assert not token.end("1.x.y")
    assert token.accepts(cookie)


def test_a_damaged_file_of_ended_sessions_ends_all_sessions_of_before(tmp_path: Path) -> None:
    clock = Clock()
    cookie = ConsoleToken.of_directory(tmp_path, clock).cookie()
    (tmp_path / "console-ended-sessions").write_text("12 a b", encoding="ascii")
    clock.now += 60

    restarted = ConsoleToken.of_directory(tmp_path, clock)

    assert not restarted.accepts(cookie)
    assert restarted.accepts(restarted.cookie())


def test_a_session_ends_although_the_disk_refuses_to_save_that(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    token = ConsoleToken.of_directory(tmp_path, Clock())
    cookie = token.cookie()
    (tmp_path / "console-ended-sessions").mkdir()

    token.end(cookie)
    token.save()

    assert not token.accepts(cookie)
    assert "a restart would make its cookie valid" in caplog.text


def test_ended_sessions_are_forgotten_when_they_would_have_expired_and_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.server.access.ended_sessions.ENDED_MAX", 3)
    clock = Clock()
    token = ConsoleToken.of_directory(tmp_path, clock)
    cookies = []
    for _ in range(5):
        cookies.append(token.cookie())
        clock.now += 10
    last = token.cookie()

    for cookie in cookies:
        token.end(cookie)
    token.save()

    restarted = ConsoleToken.of_directory(tmp_path, clock)
    assert not any(map(restarted.accepts, cookies)), "those that were dropped are not valid again"
    assert restarted.accepts(last)
    assert len((tmp_path / "console-ended-sessions").read_text().splitlines()) <= 4
    clock.now += LIFE_S
    token.end(token.cookie())
    token.save()
    assert len((tmp_path / "console-ended-sessions").read_text().splitlines()) == 2

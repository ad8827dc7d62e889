"""Limits of failed logins: who is refused, for how long, and how much is remembered."""

import pytest

from duolog.security.logins import login_limits
from duolog.security.logins.login_limits import BURST, PER_S, LoginLimits
from duolog.testing.clock import FakeClock

HOST, OTHER_HOST = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def limits(clock: FakeClock) -> LoginLimits:
    return LoginLimits(clock)


def fail(limits: LoginLimits, times: int, host: str = HOST, user: str = "alice") -> None:
    for _ in range(times):
        limits.failed(host, user)


def test_a_user_is_refused_after_a_burst_from_this_address_only(limits: LoginLimits) -> None:
    fail(limits, BURST - 1)
    assert limits.allows(HOST, "alice")

    fail(limits, 1)

    assert not limits.allows(HOST, "alice")
    assert limits.allows(OTHER_HOST, "alice")
    assert limits.allows(HOST, "bob")


def test_one_more_attempt_is_allowed_for_each_second(limits: LoginLimits, clock: FakeClock) -> None:
    fail(limits, 10 * BURST)  # More do not count: a flood must not lock a user out for hours.

    clock.advance(0.9 / PER_S)
    assert not limits.allows(HOST, "alice")
    clock.advance(0.2 / PER_S)
    assert limits.allows(HOST, "alice")
    fail(limits, 1)
    assert not limits.allows(HOST, "alice")

    clock.advance(BURST / PER_S)
    fail(limits, BURST - 1)
    assert limits.allows(HOST, "alice")


def test_what_is_remembered_is_bounded_and_what_counts_is_kept(
    limits: LoginLimits, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_limits, "_KEYS_MAX", 100)
    for number in range(50):
        limits.failed(HOST, f"old{number}")
    clock.advance(2 / PER_S)
    fail(limits, BURST)

    for number in range(90):
        limits.failed(HOST, f"new{number}")

    assert len(limits._failures) <= 100  # noqa: SLF001
    assert not limits.allows(HOST, "alice")
    for number in range(1000):
        limits.failed(HOST, f"other{number}")
    assert len(limits._failures) <= 100  # noqa: SLF001


def test_names_that_are_made_up_do_not_reset_the_failures_of_a_user(
    limits: LoginLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_limits, "_KEYS_MAX", 100)
    fail(limits, BURST)
    sorted_often = 0
    forget = LoginLimits._forget  # noqa: SLF001

    def counted(self: LoginLimits) -> None:
        nonlocal sorted_often
        sorted_often += 1
        forget(self)

    monkeypatch.setattr(LoginLimits, "_forget", counted)

    for number in range(1000):
        limits.failed(HOST, f"made-up{number}")

    assert not limits.allows(HOST, "alice")
    assert sorted_often < 30, "it takes milliseconds of the loop"

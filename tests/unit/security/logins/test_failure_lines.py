"""Failed logins in the audit log: some lines of each address, and the number of the others."""

import json
import logging
from typing import Any

import pytest

from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins import failure_lines
from duolog.security.logins.audit import Audit
from duolog.security.logins.failure_lines import LINES_MAX, PERIOD_S, FailureLines, Held
from duolog.testing.clock import FakeClock

A, B = "192.0.2.1", "192.0.2.2"


def flood(lines: FailureLines, host: str, count: int, now: float = 0.0) -> int:
    """Return how many of the failures are written."""
    return sum(lines.admits(host, now) for _ in range(count))


def test_a_flood_of_one_address_hides_no_failure_of_another() -> None:
    lines = FailureLines()

    assert flood(lines, A, 10 * LINES_MAX) == LINES_MAX
    assert flood(lines, B, 1) == 1


def test_what_was_held_is_reported_once_when_its_period_has_ended() -> None:
    lines = FailureLines()
    flood(lines, A, LINES_MAX + 7)
    flood(lines, B, 5, now=1.0)

    assert lines.due(PERIOD_S - 0.1) == []
    assert lines.due(PERIOD_S) == [Held(A, 7)]
    assert lines.due(2 * PERIOD_S) == []
    assert flood(lines, A, LINES_MAX, now=2 * PERIOD_S) == LINES_MAX


def test_very_many_addresses_are_forgotten_and_what_was_held_is_still_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(failure_lines, "_ORIGINS_MAX", 10)
    lines = FailureLines()
    flood(lines, A, LINES_MAX + 3)
    held: list[Held] = []
    for n in range(50):
        held += lines.due(1.0)
        flood(lines, f"2001:db8:0:{n:x}::1", 1, now=1.0)

    assert held == [Held(A, 3)]
    assert len(lines._periods) <= 10  # noqa: SLF001


def test_the_audit_log_has_the_number_before_its_next_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A stranger filled the disk with failed logins."""
    caplog.set_level(logging.INFO, logger="duolog.audit")
    clock, kept = FakeClock(), []

    def keep(_now_ms: int, line: str) -> None:
        kept.append(line)

    audit = Audit(clock, keep)
    stranger = Identity(Principal(USER, "root"), A)
    for _ in range(LINES_MAX + 5310):
        audit.login(stranger, "PLAIN", "SASL", "wrong password or unknown user")
    rows: list[dict[str, Any]] = [json.loads(line) for line in kept]
    assert [row["reason"] for row in rows] == ["wrong password or unknown user"] * LINES_MAX
    kept.clear()

    clock.advance(PERIOD_S)
    audit.login(stranger._replace(host=B), "PLAIN", "SASL")

    held, success = [json.loads(line) for line in kept]
    assert (held["host"], held["times"], held["outcome"]) == (A, "5310", "failure")
    assert "were not written" in held["reason"]
    assert (success["host"], success["outcome"]) == (B, "success")
    assert len(caplog.messages) == LINES_MAX + 2

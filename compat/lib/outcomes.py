"""Outcomes of a suite's tests, and which failures are expected, with the reason.

`expected.toml` beside a suite:

    [failures]
    "test/integration/test_admin.py::test_x" = "asks for three brokers"

A failure that is not listed, and a listed test that passes, are both findings.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Outcome(StrEnum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


Outcomes = Mapping[str, Outcome]


class Verdict(NamedTuple):
    """Outcomes against what was expected."""

    counts: Counter[Outcome]
    unexpected_failures: list[str]
    unexpected_passes: list[str]
    expected_failures: dict[str, str]

    @property
    def good(self) -> bool:
        return not self.unexpected_failures and self.counts[Outcome.PASSED] > 0


def read_expected(folder: Path) -> dict[str, str]:
    """Return the tests that are expected to fail, with the reason of each."""
    path = folder / "expected.toml"
    if not path.exists():
        return {}
    return dict(tomllib.loads(path.read_text()).get("failures", {}))


def compare(outcomes: Outcomes, expected: Mapping[str, str]) -> Verdict:
    failed = [name for name, outcome in outcomes.items() if outcome is Outcome.FAILED]
    return Verdict(
        Counter(outcomes.values()),
        sorted(name for name in failed if name not in expected),
        sorted(name for name in expected if outcomes.get(name) is Outcome.PASSED),
        {name: expected[name] for name in failed if name in expected},
    )

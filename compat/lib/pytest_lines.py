"""Reads the outcomes of pytest's verbose lines."""

import re

from lib.outcomes import Outcome

_LINE = re.compile(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)
_OUTCOMES = {
    "PASSED": Outcome.PASSED,
    "XPASS": Outcome.PASSED,
    "FAILED": Outcome.FAILED,
    "ERROR": Outcome.FAILED,
    "SKIPPED": Outcome.SKIPPED,
    "XFAIL": Outcome.SKIPPED,
}


def outcomes_of(output: str) -> dict[str, Outcome]:
    """Return the outcome of each test; one that fails at its end counts as failed."""
    found: dict[str, Outcome] = {}
    for name, word in _LINE.findall(output):
        if found.get(name) is not Outcome.FAILED:
            found[name] = _OUTCOMES[word]
    return found

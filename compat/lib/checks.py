"""Runs our own checks with a client, which print `ok - name` or `not ok - name` for each."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from lib.outcomes import Outcome
from lib.suite import run_command

_LINE = re.compile(r"^(ok|not ok|skip) - ([^:\n]+)", re.MULTILINE)
_OUTCOMES = {"ok": Outcome.PASSED, "not ok": Outcome.FAILED, "skip": Outcome.SKIPPED}


def run_checks(
    command: Sequence[str],
    *,
    cwd: Path,
    log: Path,
    env: Mapping[str, str],
    prefix: str = "",
    timeout_s: float = 300,
) -> dict[str, Outcome]:
    """Run a program of checks; return the outcome of each.

    A program that ends before its last line counts as a failed check, "the program".
    """
    output = run_command(command, cwd=cwd, log=log, timeout_s=timeout_s, env=env)
    outcomes = {prefix + name.strip(): _OUTCOMES[how] for how, name in _LINE.findall(output)}
    if not re.search(r"^done$", output, re.MULTILINE):
        outcomes[f"{prefix}the program"] = Outcome.FAILED
    return outcomes

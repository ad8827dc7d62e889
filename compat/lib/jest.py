"""Runs tests written for Jest, and reads their outcomes."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lib.outcomes import Outcome
from lib.suite import run_command

_OUTCOMES = {"passed": Outcome.PASSED, "failed": Outcome.FAILED}


def run_jest(
    folder: Path, selection: Sequence[str], *, log: Path, env: Mapping[str, str]
) -> dict[str, Outcome]:
    """Run the tests of a folder in which `jest.config.json` lies, one file after the other.

    Args:
        folder: Jest is in `node_modules` next to it.
        selection: expressions for the names of files; all of them if empty.
        log: file for the output.
        env: variables for the tests.
    """
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    command = ["node", str(folder.parent / "node_modules/jest/bin/jest.js"), "--runInBand"]
    command += ["--forceExit", "--json", f"--outputFile={results}", *selection]
    run_command(command, cwd=folder, log=log, timeout_s=900, env={**os.environ, **env})
    if not results.exists():
        return {}
    return {
        f"{Path(file['name']).name}: {test['fullName']}": _OUTCOMES.get(
            test["status"], Outcome.SKIPPED
        )
        for file in json.loads(results.read_text())["testResults"]
        for test in file["assertionResults"]
    }

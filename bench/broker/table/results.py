"""Summarize figures of several rounds as median, minimum and maximum, and store them row by row.

Measuring a row again replaces only that row. Each row has its own commit, time and command.
"""

import json
import shlex
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.broker.table.clients import Figures
from bench.common.results_file import RESULTS_DIR, commit_id, machine

_DIGITS = 4


def spread(rounds: Sequence[Figures]) -> dict[str, dict[str, float]]:
    """Return each figure's median, minimum and maximum."""
    return {
        name: _of([figures[name] for figures in rounds]) for name in rounds[0] if name != "records"
    }


def ratios(rounds: Sequence[tuple[Figures, Figures]]) -> dict[str, dict[str, float]]:
    """Return each figure's ratio, first / second, round by round."""
    return {
        name: _of([ours[name] / theirs[name] for ours, theirs in rounds])
        for name in rounds[0][0]
        if name != "records" and all(theirs.get(name) for _, theirs in rounds)
    }


def _of(values: Sequence[float]) -> dict[str, float]:
    found = {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }
    return {name: _rounded(value) for name, value in found.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def keep_rows(name: str, rows: Mapping[str, Any]) -> None:
    """Store rows in `bench/results/<name>.json`, keeping other rows in that file."""
    path = RESULTS_DIR / f"{name}.json"
    kept = json.loads(path.read_text()) if path.exists() else {"rows": {}}
    measured = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["scripts/bench", Path(sys.argv[0]).stem, *_arguments()]),
        "commit": commit_id(),
    }
    for key, row in rows.items():
        kept["rows"][key] = {**row, **measured}
    document = {"machine": machine(), "rows": kept["rows"]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def _arguments() -> list[str]:
    """Return the command's arguments without the data directory, which depends on the machine."""
    arguments = sys.argv[1:]
    if "--directory" in arguments:
        place = arguments.index("--directory")
        del arguments[place : place + 2]
    return arguments

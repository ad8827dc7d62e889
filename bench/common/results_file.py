"""Store a result with the machine, commit and command that produced it."""

import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

RESULTS_DIR: Final = Path(__file__).parents[1] / "results"


def machine() -> dict[str, object]:
    """Return the properties of the machine that affect the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def commit_id() -> str:
    """Return the checked-out commit, with `+` if files differ from it."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], capture_output=True, text=True, check=False
    )
    return described.stdout.strip() or "unknown"


def write_result(name: str, figures: dict[str, object]) -> Path:
    """Store `figures` in `bench/results/<name>.json` and print them."""
    path = RESULTS_DIR / f"{name}.json"
    document = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["scripts/bench", Path(sys.argv[0]).stem, *sys.argv[1:]]),
        "commit": commit_id(),
        "machine": machine(),
        **figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))
    return path

"""A client suite: fetched at run time, run against a broker, judged test by test."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lib.outcomes import Outcomes

CACHE = Path(__file__).parents[1] / ".cache"


class Suite(Protocol):
    """One folder of `compat/`, as its `suite.py` gives it."""

    client: str
    """The client as people know it, with its version."""

    settings: Mapping[str, str]
    """What the suite assumes of the broker."""

    def run(self, bootstrap_servers: str, cache: Path, selection: Sequence[str]) -> Outcomes:
        """Fetch what is missing into `cache`, run, and return each test's outcome."""
        ...


def is_project(suite: Suite) -> bool:
    """Return True if the suite is of a project that starts its broker with our `KafkaContainer`."""
    return bool(getattr(suite, "project", False))


def is_secured(suite: Suite) -> bool:
    """Return True if the suite needs a broker with users, rights and TLS."""
    return bool(getattr(suite, "secured", False))


def is_of_sql_server(suite: Suite) -> bool:
    """Return True if the suite runs against `duolog start`, which it starts itself."""
    return bool(getattr(suite, "of_sql_server", False))


def folder_of_results(suite: Suite) -> str:
    """Return the folder of the suite's results in `compat/results`, as sections of the page."""
    if is_project(suite):
        return "projects"
    if is_secured(suite):
        return "security"
    if is_of_sql_server(suite):
        return "sql_server"
    return "registry" if getattr(suite, "of_registry", False) else ""


def run_command(
    command: Sequence[str],
    *,
    cwd: Path,
    log: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a command, keep its output in `log` and return it; a time-out ends it."""
    with log.open("w") as output:
        try:
            subprocess.run(
                command,
                cwd=cwd,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            output.write(f"\nended after {timeout_s} s\n")
    return log.read_text(errors="replace")


def fetch(folder: Path, cache: Path) -> None:
    """Run the folder's `fetch`, which brings the suite into `cache` and is quick when it is there.

    Raises:
        SystemExit: it failed; the text says what to install.
    """
    cache.mkdir(parents=True, exist_ok=True)
    # `python` in a fetch is the one that runs this: the project's own.
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([str(folder / "fetch"), str(cache)], env=env, check=False, timeout=900)
    if done.returncode:
        raise SystemExit(f"error: {folder.name}/fetch failed with {done.returncode}")

"""The page of clients: what each suite of `compat/` found, and which versions each client used.

Written from `compat/results/*.json`, which `compat/run` keeps, from `compat/known_issues.toml` and from
the broker's APIs.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from duolog.broker.router import find_apis

RESULTS: Final = Path(__file__).parents[2] / "compat/results"

INTRO: Final = """\
Real clients, by their own tests where these run against one broker, else by checks of ours. Each
run is repeated with the command in its row; what a suite needs is fetched when it runs."""
EXPECTED_INTRO: Final = """\
Tests that fail as expected, with the reason. A failure that is not listed here is a bug of ours:
please report it."""
KNOWN: Final = Path(__file__).parents[2] / "compat/known_issues.toml"
KNOWN_INTRO: Final = """\
What clients and their tests do with this broker that may surprise you."""
VERSIONS_INTRO: Final = """\
What the broker serves, and what each client asked for while its suite ran. An empty field means
that the suite never asked, not that it would not work."""


def compatibility_page() -> str:
    """Return the body of the page."""
    results = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    results.sort(key=lambda result: str(result["client"]).lower())
    parts = ["# Clients", INTRO, _suites(results)]
    parts += ["## Expected failures", EXPECTED_INTRO, _expected(results)]
    parts += ["## Known issues", KNOWN_INTRO, _known()]
    parts += ["## API, version, client", VERSIONS_INTRO, _versions(results)]
    return "\n\n".join(parts)


def _suites(results: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for result in results:
        counts = result["counts"]
        failed = f"{counts['failed']} ({len(result['expected_failures'])} expected)"
        rows.append(
            f"| {result['client']} | {counts['passed']} | {failed if counts['failed'] else 0} "
            f"| {counts['skipped']} | `{result['command']}` | {result['commit']}, {result['date']} |"
        )
    head = "| client | passed | failed | skipped | command | commit and day |\n|---|---|---|---|---|---|"
    return "\n".join((head, *rows))


def _expected(results: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f"| {result['client']} | `{test}` | {reason} |"
        for result in results
        for test, reason in result["expected_failures"].items()
    ]
    return "\n".join(("| client | test | reason |", "|---|---|---|", *rows)) if rows else "None."


def _known() -> str:
    """Return a list: table cells of this length would be hard to read."""
    issues = tomllib.loads(KNOWN.read_text())["issue"]
    return "\n\n".join(
        f"**{issue['client']}.** {issue['symptom']}\n\n"
        f"- *Cause:* {issue['cause']}\n"
        f"- *What to do:* {issue['remedy']}"
        for issue in issues
    )


def _versions(results: Sequence[Mapping[str, Any]]) -> str:
    names = [result["client"] for result in results]
    head = f"| API | served | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}"
    rows = []
    for api in find_apis():
        served = _span(list(api.versions))
        used = [_span(result["versions_used"].get(api.name, [])) for result in results]
        rows.append(f"| {int(api.key)} {api.name} | {served} | {' | '.join(used)} |")
    return "\n".join((head, *rows))


def _span(versions: Sequence[int]) -> str:
    """Versions as a person writes them: 0 to 3, 5."""
    spans: list[list[int]] = []
    for version in versions:
        if spans and spans[-1][1] == version - 1:
            spans[-1][1] = version
        else:
            spans.append([version, version])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in spans)

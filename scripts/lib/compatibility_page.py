"""Generate the page of clients: results of the suites in `compat/`, and API versions in use.

Sources: `compat/results/*.json` written by `compat/run`, `compat/known_issues.toml`, and the
broker's APIs.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from duolog.broker.router import find_apis

RESULTS: Final = Path(__file__).parents[2] / "compat/results"

INTRO: Final = """\
Results of real clients. Their own tests are used if these can run against a single broker;
otherwise we wrote checks. The command in a row repeats its run and downloads what the suite
needs."""
PROJECTS: Final = RESULTS / "projects"
PROJECTS_INTRO: Final = """\
Tests of projects that use Kafka. Their tests start the broker with `KafkaContainer` of
`duolog.testing.containers` in place of a container."""
SECURITY: Final = RESULTS / "security"
SECURITY_INTRO: Final = """\
Results against a broker with TLS, logins and ACLs. Clients' own tests of security are used if they
have some that need no other servers; otherwise we wrote checks."""
REGISTRY: Final = RESULTS / "registry"
REGISTRY_INTRO: Final = """\
Results of clients of the schema registry, and of another registry's tests, with `duolog registry`
on a broker. Their own tests are used if these talk to a registry; otherwise we wrote checks."""
SQL_SERVER: Final = RESULTS / "sql_server"
SQL_SERVER_INTRO: Final = """\
Results of ksqlDB's clients and consoles with `duolog start`. A client's own tests are used if it
has some that talk to a server; checks of ours call the rest of its interface. Checks whose name
starts with `logins` ran over TLS with a user and a password.

Not run: PyPI's jetblack-ksql-dbapi 0.1.0, whose wheel lacks its grammar; the crate ksqldb, which
has only pre-releases; Confluent's Java client and command line, which are not on Maven Central."""
EXPECTED_INTRO: Final = """\
Tests that are expected to fail, with the reason. Please report any other failure as a bug."""
KNOWN: Final = Path(__file__).parents[2] / "compat/known_issues.toml"
KNOWN_INTRO: Final = """\
Behaviour of clients and their tests with this broker that may be unexpected."""
VERSIONS_INTRO: Final = """\
Versions that the broker supports, and versions that each client used while its suite ran. An empty
field means that the suite did not use the API, not that it is unsupported."""


def compatibility_page() -> str:
    """Return the body of the page."""
    results = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    results.sort(key=lambda result: str(result["client"]).lower())
    parts = ["# Clients", INTRO, _suites(results)]
    projects = [json.loads(path.read_text()) for path in sorted(PROJECTS.glob("*.json"))]
    parts += ["## Projects", PROJECTS_INTRO, _projects(projects)]
    security = [json.loads(path.read_text()) for path in sorted(SECURITY.glob("*.json"))]
    parts += ["## Security", SECURITY_INTRO, _suites(security)]
    of_registry = [json.loads(path.read_text()) for path in sorted(REGISTRY.glob("*.json"))]
    parts += ["## Schema registry", REGISTRY_INTRO, _suites(of_registry)]
    of_sql_server = [json.loads(path.read_text()) for path in sorted(SQL_SERVER.glob("*.json"))]
    of_sql_server.sort(key=lambda result: str(result["client"]).lower())
    parts += ["## SQL server", SQL_SERVER_INTRO, _suites(of_sql_server)]
    parts += ["## Expected failures", EXPECTED_INTRO]
    parts += [_expected([*results, *projects, *security, *of_registry, *of_sql_server])]
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
            f"| {counts['skipped']} | `{result['command']}` | {result['commit']}, "
            f"{result['date']} |"
        )
    head = (
        "| client | passed | failed | skipped | command | commit and day "
        "|\n|---|---|---|---|---|---|"
    )
    return "\n".join((head, *rows))


def _projects(results: Sequence[Mapping[str, Any]]) -> str:
    if not results:
        return "None."
    rows = [
        f"| {result['client']} | passed {result['counts']['passed']} "
        f"| failed {result['counts']['failed']} ({len(result['expected_failures'])} expected) "
        f"| skipped {result['counts']['skipped']} | `{result['command']}`, {result['commit']}, "
        f"{result['date']} |"
        for result in results
    ]
    head = "| project | | | | command, commit and day |\n|---|---|---|---|---|"
    return "\n".join((head, *rows))


def _expected(results: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f"| {result['client']} | `{test}` | {reason} |"
        for result in results
        for test, reason in result["expected_failures"].items()
    ]
    return "\n".join(("| client | test | reason |", "|---|---|---|", *rows)) if rows else "None."


def _known() -> str:
    """Return a list, because the texts are too long for table cells."""
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
    """Return version numbers as ranges: 0 to 3, 5."""
    spans: list[list[int]] = []
    for version in versions:
        if spans and spans[-1][1] == version - 1:
            spans[-1][1] = version
        else:
            spans.append([version, version])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in spans)

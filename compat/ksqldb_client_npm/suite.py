"""The own tests of npm's ksqldb-client, and our checks of its whole interface in `checks.js`."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.checks import run_checks
from lib.outcomes import Outcome
from lib.sql_server import SqlServer, sql_server
from lib.suite import fetch, run_command

HERE = Path(__file__).parent


class KsqldbClientNpm:
    """Mocha's tests of the package, then `checks.js`: over h2c, and over TLS with logins."""

    client = "npm ksqldb-client 1.0.5"
    of_sql_server = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # `duolog start` has a broker of its own.
        fetch(HERE, cache)
        outcomes: dict[str, Outcome] = {}
        with sql_server(cache / "server.txt") as server:
            outcomes |= checks(server, cache, "checks", selection)
            # Their limit of 5 s for a test needs a warm JVM: the checks have started queries.
            if not selection:
                outcomes |= own_tests(server, cache)
        with sql_server(cache / "server_with_logins.txt", logins=True) as server:
            outcomes |= checks(server, cache, "logins", selection)
        return outcomes


def own_tests(server: SqlServer, cache: Path) -> dict[str, Outcome]:
    """Run the tests of the package; each is a name, an outcome, and a stack in the log."""
    report = cache / "results.json"
    report.unlink(missing_ok=True)
    env = os.environ | {"KSQLDB_HOST": server.host, "KSQLDB_PORT": str(server.port)}
    command = ["node", str(cache / "node_modules/mocha/bin/mocha.js"), "tests/index.spec.js"]
    command += ["--reporter", "json", "--reporter-option", f"output={report}", "--exit"]
    run_command(command, cwd=cache / "package", log=cache / "tests.txt", timeout_s=600, env=env)
    found = json.loads(report.read_text()) if report.exists() else {"tests": [], "failures": []}
    failed = {test["title"] for test in found["failures"]}
    return {
        f"tests: {test['title']}": Outcome.FAILED if test["title"] in failed else Outcome.PASSED
        for test in found["tests"]
    }


def checks(
    server: SqlServer, cache: Path, program: str, selection: Sequence[str]
) -> dict[str, Outcome]:
    """Run one of our programs against a server."""
    return run_checks(
        ["node", str(HERE / f"{program}.js"), *selection],
        cwd=cache,
        log=cache / f"{program}.txt",
        env={**server.environment(), "NODE_PATH": str(cache / "node_modules")},
        prefix=f"{program}: ",
    )


SUITE = KsqldbClientNpm()

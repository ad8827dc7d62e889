"""Our own checks with Cube's driver of ksqlDB, in `checks.js`: its package has no tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.checks import run_checks
from lib.outcomes import Outcome
from lib.sql_server import sql_server
from lib.suite import fetch

HERE = Path(__file__).parent


class CubeKsql:
    """The checks over HTTP/1.1, open and with a login over TLS."""

    client = "npm @cubejs-backend/ksql-driver 1.7.43"
    of_sql_server = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # `duolog start` has a broker of its own.
        fetch(HERE, cache)
        outcomes: dict[str, Outcome] = {}
        for mode in ("checks", "logins"):
            with sql_server(cache / f"server_{mode}.txt", logins=mode == "logins") as server:
                harness = HERE.with_name("ksqldb_client_npm")
                outcomes |= run_checks(
                    ["node", str(HERE / "checks.js"), *selection],
                    cwd=cache,
                    log=cache / f"{mode}.txt",
                    env={
                        **server.environment(),
                        "NODE_PATH": f"{cache / 'node_modules'}:{harness}",
                    },
                    prefix=f"{mode}: ",
                )
        return outcomes


SUITE = CubeKsql()

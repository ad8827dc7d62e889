"""Our own checks with Kafbat UI's client of ksqlDB, in `Checks.java`: its tests start containers.

The classes that parse a console's statement, send it and turn the answer into tables of the page
are compiled from its repository. The rest of the application is not built.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.checks import run_checks
from lib.outcomes import Outcome
from lib.sql_server import SqlServer, sql_server
from lib.suite import fetch


class KafbatUi:
    """The checks without security, and those with TLS and a login."""

    client = "Kafbat UI 1.5.0"
    of_sql_server = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # `duolog start` has a broker of its own.
        fetch(Path(__file__).parent, cache)
        outcomes: dict[str, Outcome] = {}
        for program in ("checks", "logins"):
            log = cache / f"server_{program}.txt"
            with sql_server(log, logins=program == "logins") as server:
                target = cache / "build/target"
                command = ["java", "-Xmx256m", "-cp", f"{target}/classes:{target}/jars/*", "Checks"]
                outcomes |= run_checks(
                    [*command, *selection],
                    cwd=cache,
                    log=cache / f"{program}.txt",
                    env={**server.environment(), **truststore(server, cache)},
                    prefix=f"{program}: ",
                )
        return outcomes


def truststore(server: SqlServer, cache: Path) -> dict[str, str]:
    """Return the variable that names a trust store of Java with the server's authority."""
    if server.authority is None:
        return {}
    store = cache / "truststore.p12"
    store.unlink(missing_ok=True)
    command = ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-storepass", "changeit"]
    command += ["-file", str(server.authority), "-keystore", str(store)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return {"SQL_TRUSTSTORE": str(store)}


SUITE = KafbatUi()

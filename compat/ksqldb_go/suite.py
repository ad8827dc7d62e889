"""Our own checks with Go's ksqldb-go, in `checks.go`: its tests talk to fakes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.checks import run_checks
from lib.outcomes import Outcome
from lib.sql_server import sql_server
from lib.suite import fetch


class KsqldbGo:
    """The checks over HTTP/1.1 and h2c, those of logins over TLS."""

    client = "Go thmeitz/ksqldb-go 0.1.0"
    of_sql_server = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # `duolog start` has a broker of its own.
        fetch(Path(__file__).parent, cache)
        outcomes: dict[str, Outcome] = {}
        for program in ("h2c", "http1", "logins"):
            log = cache / f"server_{program}.txt"
            with sql_server(log, logins=program == "logins") as server:
                outcomes |= run_checks(
                    ["./checks", program, *selection],
                    cwd=cache,
                    log=cache / f"{program}.txt",
                    env=server.environment(),
                    prefix=f"{program}: ",
                )
        return outcomes


SUITE = KsqldbGo()

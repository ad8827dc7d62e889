"""A suite of our own checks with a Python client of the SQL server, open and with logins."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.checks import run_checks
from lib.outcomes import Outcome
from lib.sql_server import SqlServer, sql_server
from lib.suite import fetch

LIB = Path(__file__).parent


class PythonClient:
    """The checks of `checks.py` and of `logins.py`, whichever the folder or `checks_of` has.

    Args:
        client: the client, with its version.
        folder: the folder of the suite.
        checks_of: the folder with the programs, if it is another one.
        variables: for the programs.
    """

    of_sql_server = True
    settings: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        client: str,
        folder: Path,
        checks_of: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.client = client
        self._folder = folder
        self._programs = checks_of or folder
        self._variables = dict(variables or {})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # `duolog start` has a broker of its own.
        fetch(self._folder, cache)
        outcomes: dict[str, Outcome] = {}
        with sql_server(cache / "server.txt") as server:
            outcomes |= self.checks(server, cache, "checks", selection)
        with sql_server(cache / "server_with_logins.txt", logins=True) as server:
            outcomes |= self.checks(server, cache, "logins", selection)
        return outcomes

    def checks(
        self, server: SqlServer, cache: Path, program: str, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        """Run one of our programs in the environment of the client."""
        env = {**server.environment(), "PYTHONPATH": str(LIB), **self._variables}
        return run_checks(
            [str(cache / "venv/bin/python"), str(self._programs / f"{program}.py"), *selection],
            cwd=cache,
            log=cache / f"{program}.txt",
            env=env,
            prefix=f"{program}: ",
        )

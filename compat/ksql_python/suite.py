"""The own tests of PyPI's ksql that ask a server, and our checks of its whole interface."""

import os
from collections.abc import Sequence
from pathlib import Path

from lib.outcomes import Outcome
from lib.pytest_lines import outcomes_of
from lib.python_client import LIB, PythonClient
from lib.sql_server import SqlServer, sql_server
from lib.suite import run_command

HERE = Path(__file__).parent
SHIM = HERE / "shim"


class KsqlPython(PythonClient):
    """The tests of its repository, whose recorded answers are replaced by the server's."""

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        outcomes = super().run(bootstrap_servers, cache, selection)
        if not selection:
            # They drop all streams, and list them.
            with sql_server(cache / "server_of_tests.txt") as server:
                outcomes |= self.own_tests(server, cache)
        return outcomes

    def own_tests(self, server: SqlServer, cache: Path) -> dict[str, Outcome]:
        """Run the tests of its repository."""
        command = [str(cache / "venv/bin/python"), "-m", "pytest", "-v", "-p", "no:cacheprovider"]
        # Without the settings of the project around the cache.
        command += ["-c", os.devnull, "--rootdir", ".", "--timeout", "120", "tests"]
        env = {**server.environment(), "PYTHONPATH": str(SHIM)}
        log = cache / "tests.txt"
        output = run_command(command, cwd=cache / "source", log=log, timeout_s=600, env=env)
        return outcomes_of(output)


SUITE = KsqlPython("PyPI ksql 0.10.2", HERE, variables={"PYTHONPATH": f"{SHIM}:{LIB}"})

"""A suite of requests that a program sends which cannot be installed here, and of its parsers."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.checks import run_checks
from lib.outcomes import Outcome
from lib.sql_server import sql_server

LIB = Path(__file__).parent


class Conversation:
    """The program `checks.py` of a folder, against an open server and one with TLS and logins.

    Args:
        client: the client, with its version.
        folder: the folder of the suite.
    """

    of_sql_server = True
    settings: Mapping[str, str] = MappingProxyType({})

    def __init__(self, client: str, folder: Path) -> None:
        self.client = client
        self._folder = folder

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        del bootstrap_servers  # `duolog start` has a broker of its own.
        cache.mkdir(parents=True, exist_ok=True)
        outcomes: dict[str, Outcome] = {}
        for mode in ("checks", "logins"):
            with sql_server(cache / f"server_{mode}.txt", logins=mode == "logins") as server:
                outcomes |= run_checks(
                    [sys.executable, str(self._folder / "checks.py"), *selection],
                    cwd=cache,
                    log=cache / f"{mode}.txt",
                    env={**server.environment(), "PYTHONPATH": str(LIB)},
                    prefix=f"{mode}: ",
                )
        return outcomes

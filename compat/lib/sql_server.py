"""The SQL server under test: `duolog start`, open on loopback, or with TLS and logins."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit

from conformance.server.started import started

ADMIN = "admin"
"""The user of a server with logins, who may do everything."""


class SqlServer(NamedTuple):
    """A running server, and what a client needs of it."""

    url: str
    broker: str
    registry: str
    password: str
    """The password of `ADMIN`; empty if the server has no logins."""
    authority: Path | None
    """PEM file of the authority that has signed the server's certificate, if it uses TLS."""

    @property
    def host(self) -> str:
        return str(urlsplit(self.url).hostname)

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    def environment(self) -> Mapping[str, str]:
        """Return variables for the programs of a suite, this process's own among them.

        Libraries of Go, Node.js and Python take the authority from the last four.
        """
        env = os.environ | {"SQL_URL": self.url, "SQL_BROKER": self.broker}
        if self.authority is not None:
            env |= {"SQL_USER": ADMIN, "SQL_PASSWORD": self.password}
            names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SQL_CA_FILE")
            env |= dict.fromkeys(names, str(self.authority))
        return env


@contextmanager
def sql_server(log: Path, *, logins: bool = False) -> Iterator[SqlServer]:
    """Run `duolog start` for one suite, and keep its log in the file `log`.

    Args:
        log: the file, which is overwritten.
        logins: with TLS, logins and access control lists (`--profile team`).
    """
    with TemporaryDirectory() as directory:
        path = Path(directory)
        arguments = ("--profile", "team", "--host", "localhost") if logins else ()
        with started(path, *arguments) as one:
            try:
                addresses = one.ready()
                password = ""
                if logins:
                    password = (path / "data/admin.password").read_text().strip()
                yield SqlServer(
                    addresses["server"].replace("127.0.0.1", "localhost"),
                    addresses["broker"],
                    addresses["registry"],
                    password,
                    path / "data/certificates/ca.pem" if logins else None,
                )
            finally:
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_text(one.log())

"""Read the result tables of `duolog demo --server` with clients of the SQL server.

    curl            the program of the system
    ksqldb          the client of PyPI, in a virtual environment of its own
    ksqldb-client   the client of npm, on the Node.js of the system
    pandas          a DataFrame, by `duolog.connect`

Each client is a process or a library that knows nothing of the demo. The two that must be installed
are installed below the data directory once. A client that the machine cannot run is skipped, with
the reason.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import duolog
from duolog.cli.demo.check import COLUMNS, Difference, differences
from duolog.cli.demo.dataset import Dataset
from duolog.cli.demo.tables import Row
from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION
from duolog.cli.errors import ClientFailed

QUERIES: Final = {
    topic: f"SELECT {key}, {', '.join(COLUMNS)} FROM {table};"  # noqa: S608 - made of constants
    for topic, table, key in (
        (BY_AIRLINE, "by_airline", "carrier"),
        (BY_DESTINATION, "by_destination", "dest"),
    )
}
PYTHON_CLIENT: Final = "ksqldb==1.0.1"
NODE_CLIENT: Final = "ksqldb-client@1.0.5"
_QUIETLY: Final = ("--silent", "--no-audit", "--no-fund")
_TIMEOUT_S: Final = 120

_PYTHON_PROGRAM: Final = """
import json, sys
from ksqldb import KSQLdbClient
header, *rows = KSQLdbClient(sys.argv[1]).query_sync(sys.argv[2], timeout=60)
print(json.dumps(rows))
"""
_NODE_PROGRAM: Final = """
const Client = require("ksqldb-client");
const [url, query] = process.argv.slice(-2);
const {protocol, hostname, port} = new URL(url);
const client = new Client({host: `${protocol}//${hostname}`, port: Number(port)});
client.connect()
  .then(() => client.query(query))
  .then(({data, error}) => {
    if (error) throw new Error(JSON.stringify(error));
    console.log(JSON.stringify(data.rows.map((row) => Object.values(row))));
    return client.disconnect();
  })
  .catch((error) => { console.error(String(error)); process.exitCode = 1; });
"""

Values = Sequence[Any]
Ask = Callable[[str, str], Sequence[Values]]
"""Returns the rows of a query, from the URL of the server."""


class Skipped(Exception):
    """The machine cannot run a client; the message has the reason."""


class Answer(NamedTuple):
    """The tables as one client has read them, compared with the batch.

    Attributes:
        client: the name of the client.
        differences: rows that differ from the batch.
        skipped: the reason why the client was not run; empty if it was.
    """

    client: str
    differences: Sequence[Difference] = ()
    skipped: str = ""

    @property
    def verdict(self) -> str:
        """`equal`, `different`, or why the client was skipped."""
        if self.skipped:
            return f"skipped: {self.skipped}"
        return "different" if self.differences else "equal"


def ask_all(url: str, directory: Path, dataset: Dataset, events: int) -> list[Answer]:
    """Read both tables with each client, and compare them with the batch over `events` flights.

    Raises:
        ClientFailed: a client runs, and failed to read a table.
    """
    found = []
    for name, ask in clients_of(directory).items():
        try:
            tables = {topic: _table(ask(url, query)) for topic, query in QUERIES.items()}
        except Skipped as reason:
            found.append(Answer(name, skipped=str(reason)))
        else:
            found.append(Answer(name, differences(tables, dataset, events)))
    return found


def clients_of(directory: Path) -> Mapping[str, Ask]:
    """Return each client by its name; `directory` is for those that are installed."""
    return {
        "curl": by_curl,
        "ksqldb": lambda url, query: by_python(directory / "python", url, query),
        "ksqldb-client": lambda url, query: by_node(directory / "node", url, query),
        "pandas": by_pandas,
    }


def install(directory: Path) -> None:
    """Install the two clients; what cannot be installed is reported by the read.

    Threads: runs next to the start of the server.
    """
    for ensure in (ensure_python, ensure_node):
        try:
            ensure(directory / ("python" if ensure is ensure_python else "node"))
        except Skipped:
            continue


def by_curl(url: str, query: str) -> Sequence[Values]:
    """Return the rows that `curl` gets from `/query`."""
    body = json.dumps({"ksql": query})
    lines = _run(
        "curl",
        [_program("curl"), "--silent", "--show-error", "--fail", f"{url}/query", "--data", body],
    )
    return [one["row"]["columns"] for one in json.loads(lines) if "row" in one]


def by_python(directory: Path, url: str, query: str) -> Sequence[Values]:
    """Return the rows that the client of PyPI reads."""
    return _rows(_run("ksqldb", [ensure_python(directory), "-c", _PYTHON_PROGRAM, url, query]))


def by_node(directory: Path, url: str, query: str) -> Sequence[Values]:
    """Return the rows that the client of npm reads."""
    node = ensure_node(directory)
    return _rows(_run("ksqldb-client", [node, "-e", _NODE_PROGRAM, "--", url, query], directory))


def by_pandas(url: str, query: str) -> Sequence[Values]:
    """Return the rows of a DataFrame; a missing value is None."""
    with duolog.connect(url) as connection:
        frame = connection.execute(query).fetch_df().astype(object)
    return cast("Sequence[Values]", frame.where(frame.notna(), None).to_numpy().tolist())


def ensure_python(directory: Path) -> str:
    """Return the Python that has the client of PyPI; install it if it is missing.

    Raises:
        Skipped: it cannot be installed, for instance without a network.
    """
    python = directory / "bin/python"
    _ensure(
        directory,
        PYTHON_CLIENT,
        [sys.executable, "-m", "venv", str(directory)],
        [str(python), "-m", "pip", "install", "--quiet", PYTHON_CLIENT],
    )
    return str(python)


def ensure_node(directory: Path) -> str:
    """Return the program of Node.js, after the client of npm is in `directory`.

    Raises:
        Skipped: there is no Node.js, or the client cannot be installed.
    """
    node, npm = _program("node"), _program("npm")
    _ensure(
        directory,
        NODE_CLIENT,
        [npm, "install", *_QUIETLY, "--prefix", str(directory), NODE_CLIENT],
    )
    return node


def _ensure(directory: Path, package: str, *commands: list[str]) -> None:
    """Run commands that install a package, unless they have succeeded before."""
    done = directory / ".installed"
    if done.exists() and done.read_text() == package:
        return
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for command in commands:
        try:
            _run(package, command)
        except ClientFailed as error:
            raise Skipped(f"{package} could not be installed ({error.detail})") from error
    done.write_text(package)


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Skipped(f"{name} is not on PATH")
    return path


def _run(client: str, command: list[str], directory: Path | None = None) -> str:
    """Return the output of a command.

    Raises:
        ClientFailed: it failed, or took too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the commands above, no shell
            command, cwd=directory, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise ClientFailed(f"client {client} failed", detail=str(error)) from error
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise ClientFailed(f"client {client} failed", detail=last)
    return done.stdout


def _rows(text: str) -> Sequence[Values]:
    return cast("Sequence[Values]", json.loads(text))


def _table(rows: Sequence[Values]) -> dict[str, Row]:
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}

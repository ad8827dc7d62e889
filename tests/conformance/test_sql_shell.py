"""`duolog sql` for users and programs, against a broker."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from conformance.command import Duolog
from duolog.testing import EmbeddedCluster

HEAVY: Final = ("pyspark", "py4j", "duckdb", "pandas", "numpy", "prompt_toolkit", "rich")
CREATE: Final = (
    "CREATE STREAM flights (carrier STRING KEY, delay INT) "
    "WITH (KAFKA_TOPIC='flights', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
PLANNING: Final = (
    "duolog.ksql.planning.planner",
    "duolog.ksql.expressions.binder",
    "duolog.plan.nodes",
    "duolog.plan.expressions",
)
TIMEOUT_S: Final = 60
COLUMNS: Final = 80


@pytest.fixture(scope="module")
def duolog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duolog]:
    with EmbeddedCluster(data_dir=tmp_path_factory.mktemp("broker")) as cluster:
        command = Duolog(cluster.bootstrap_servers)
        assert command("sql", "-e", CREATE).stdout == "Stream FLIGHTS created\n"
        yield command


class Terminal:
    """A terminal of 80 columns in which `duolog sql` runs."""

    def __init__(self, *words: str, home: Path) -> None:
        self.shown = ""
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm", "HOME": str(home), "XDG_DATA_HOME": ""}
            os.execve(sys.executable, [sys.executable, "-m", "duolog", *words], environment)  # noqa: S606
        size = struct.pack("HHHH", 24, COLUMNS, 0, 0)
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, size)

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, text: str) -> None:
        """Wait until a text is shown after the previous match."""
        deadline = time.monotonic() + TIMEOUT_S
        while text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.shown!r}"
            self._read()
        self.shown = self.shown.partition(text)[2]

    def end(self) -> int:
        """Wait until the shell has ended; return its exit status."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._read() and time.monotonic() < deadline:
            pass
        os.close(self._file)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        ready, _, _ = select.select([self._file], [], [], 0.1)
        if not ready:
            return True
        try:
            data = os.read(self._file, 65536)
        except OSError:  # Linux reports a closed terminal with EIO.
            return False
        if b"\x1b[6n" in data:  # The shell queries the cursor position.
            self.type("\x1b[1;1R")
        self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode()).replace("\r", "")
        return bool(data)


def test_program_receives_rows_and_an_exit_status(duolog: Duolog) -> None:
    listed = duolog("sql", "-o", "json", "-e", "SHOW STREAMS")
    piped = duolog("sql", "-o", "csv", stdin="SHOW STREAMS;\nSELCT 1;\nSHOW TABLES;\n")

    assert '"Stream Name":"FLIGHTS"' in listed.stdout
    assert (listed.returncode, listed.stderr) == (0, "")
    assert piped.stdout.splitlines()[1].startswith("FLIGHTS,flights,KAFKA,JSON")
    assert "Table Name" not in piped.stdout
    assert piped.returncode == 2
    assert piped.stderr.startswith(
        "error: line 1:1: Syntax Error\nUnknown statement 'SELCT'\nhint: "
    )


def test_first_answer_imports_no_heavy_modules_and_no_planner(duolog: Duolog) -> None:
    """The catalog has a stream from the command topic; only a query would load the planner."""
    program = (
        "import sys; from duolog.cli.main import main\n"
        f"status = main(['sql', '-b', {duolog.bootstrap_servers!r}, '-e', 'SHOW STREAMS'])\n"
        f"print(status, *sorted(set({(*HEAVY, *PLANNING)!r}) & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "0", done.stderr


def test_unreachable_broker_is_reported_at_once(duolog: Duolog) -> None:
    done = duolog("sql", "-e", "SHOW STREAMS", servers="127.0.0.1:1")

    assert (done.returncode, done.stdout) == (5, "")
    assert "no broker answers at 127.0.0.1:1" in done.stderr


def test_interactive_shell_reads_multiline_statements_help_and_exit(
    duolog: Duolog, tmp_path: Path
) -> None:
    shell = Terminal("sql", "-b", duolog.bootstrap_servers, home=tmp_path)
    shell.wait_for("sql>")
    shell.type("DESCRIBE\r")
    shell.wait_for("...>")
    shell.type("flights;\r")
    shell.wait_for("CARRIER | STRING (key)")
    shell.wait_for("sql>")

    shell.type("DESCRIBE fligths;\r")
    shell.wait_for("error: line 1:10: ")
    shell.wait_for("  DESCRIBE fligths;\n           ^\nhint: Did you mean FLIGHTS?\n")
    shell.wait_for("sql>")

    shell.type("SELECT nothing\x03")
    shell.wait_for("sql>")
    shell.type("DESCRIBE fl\t")
    shell.wait_for("ights")  # Only the changed part is drawn again.
    shell.type(";\r")
    shell.wait_for("DELAY")
    shell.wait_for("sql>")
    shell.type("\x04")

    assert shell.end() == 0
    history = tmp_path / ".local/share/duolog/sql/history"
    assert "DESCRIBE fligths;" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_ctrl_c_stops_a_push_query_and_not_the_shell(duolog: Duolog, tmp_path: Path) -> None:
    assert duolog("sql", "-e", "INSERT INTO flights VALUES ('AA', 7)").returncode == 0
    earliest = "auto.offset.reset=earliest"
    shell = Terminal("sql", "-b", duolog.bootstrap_servers, "--set", earliest, home=tmp_path)
    shell.wait_for("sql>")
    shell.type("SELECT * FROM flights EMIT CHANGES;\r")
    shell.wait_for(" AA                   |")
    shell.wait_for("7\n")

    shell.type("\x03")
    shell.wait_for("\nended\n")
    shell.type("SHOW TABLES;\r")
    shell.wait_for("(0 rows)")
    shell.wait_for("sql>")
    shell.type("\\q\r")

    assert shell.end() == 0


def test_sigterm_stops_the_shell(duolog: Duolog, tmp_path: Path) -> None:
    shell = Terminal("sql", "-b", duolog.bootstrap_servers, home=tmp_path)
    shell.wait_for("sql>")

    os.kill(shell.pid, signal.SIGTERM)

    assert shell.end() == 143

"""The project of `duolog init`: each command of its README runs as it stands there, in a clean home.

Only the port differs. The commands of the engine share one run, and so one JVM; it is also the one
that is told of changes of the file.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Final

import pytest

from conformance.reader import free_port
from duolog.engine.jars import cache_dir

TIMEOUT_S: Final = 60
START_S: Final = 150
RUN: Final = "duolog run app.py --watch"
CONSUME: Final = "duolog consume revenue-by-city --from-beginning"


class Terminal:
    """A command that runs in a project, and the lines that it has printed."""

    def __init__(self, project: Path, command: str, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str, timeout_s: float) -> str:
        """Return the next line that has `pattern` in it."""
        deadline = time.monotonic() + timeout_s
        seen = ""
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise AssertionError(f"no {pattern!r} in {timeout_s} s, but:\n{seen}") from None
            seen += line
            if re.search(pattern, line):
                return line

    def interrupt(self) -> int:
        """Press Ctrl-C; return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(TIMEOUT_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)


class Newcomer:
    """Somebody with an empty home and a project that has just been made."""

    def __init__(self, home: Path) -> None:
        self.project = home / "shop"
        path = (str(Path(sys.executable).parent), os.environ["PATH"])
        self._environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join(path),
            # What was downloaded once; not worth another time.
            "XDG_CACHE_HOME": str(cache_dir().parent),
        }
        self._port = free_port()
        self._terminals: list[Terminal] = []
        self.type("duolog init shop", home)
        text = (self.project / "README.md").read_text()
        blocks = re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.commands = "".join(blocks).splitlines()

    def type(self, command: str, where: Path | None = None) -> str:
        """Run a command that ends well; return what it prints."""
        servers = {"DUOLOG_BOOTSTRAP_SERVERS": f"127.0.0.1:{self._port}"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=where or self.project,
            env=self._environment | servers,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def open(self, command: str) -> Terminal:
        """Run a command that goes on, in a terminal of its own."""
        options = (
            f" --listen 127.0.0.1:{self._port}"
            if " run " in command
            else f" -b 127.0.0.1:{self._port}"
        )
        terminal = Terminal(self.project, command + options, self._environment)
        self._terminals.append(terminal)
        return terminal

    def close(self) -> None:
        for terminal in self._terminals:
            terminal.close()


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    someone = Newcomer(tmp_path)
    yield someone
    someone.close()


def test_the_tests_and_the_plan_of_the_project(newcomer: Newcomer) -> None:
    assert "2 passed" in newcomer.type("python -m pytest")
    assert 'application "shop"' in newcomer.type("duolog run app.py --explain")
    others = [line for line in newcomer.commands if not line.startswith("duolog produce ")]
    assert others == [RUN, CONSUME, "python -m pytest", "duolog run app.py --explain"]


def test_the_project_runs_and_runs_anew_when_it_is_changed(newcomer: Newcomer) -> None:
    app = newcomer.project / "app.py"
    running = newcomer.open(RUN)
    running.wait_for('application "shop" runs', START_S)
    for command in newcomer.commands:
        if command.startswith("duolog produce "):
            newcomer.type(command)
    results = newcomer.open(CONSUME)
    assert '{"orders":3,"revenue":60.0}' in results.wait_for(r'"orders":3', TIMEOUT_S)

    text = app.read_text()
    app.write_text(text.replace('"revenue-by-city"', '"revenue"').replace("orders=", "oders=("))
    running.wait_for("cannot be run: SyntaxError", TIMEOUT_S)
    running.wait_for("waiting for a change of app.py; what ran before runs on", TIMEOUT_S)

    app.write_text(text.replace('"revenue-by-city"', '"revenue"'))
    changed_at = time.monotonic()
    running.wait_for('application "shop" runs', TIMEOUT_S)
    assert time.monotonic() - changed_at < 30, "a warm start, and not another JVM"
    newcomer.type("""echo 'o6:{"customer":"cem","amount":1}' | duolog produce orders -K :""")
    kept = newcomer.open("duolog consume revenue --from-beginning")
    assert '{"orders":4,"revenue":61.0}' in kept.wait_for('"orders":4', TIMEOUT_S)

    app.write_text(text.replace('group_by("city")', 'group_by("customer")'))
    running.wait_for("has changed since its checkpoint was written", TIMEOUT_S)
    running.wait_for("waiting for a change of app.py$", TIMEOUT_S)

    assert running.interrupt() == 130
    running.wait_for("stopping", TIMEOUT_S)

"""A reader who follows a page of the guide verbatim, in a clean home.

    ```bash      commands, each of which must succeed; a command that keeps running (a broker,
                 `duolog run`) gets its own terminal until a similar one is typed, `# Ctrl-C` is
                 typed, or the page ends
    ```console   `$ command` followed by its output; a line `…` matches any lines, `…` in a line
                 any text; a command with an error below it must fail
    ```python    saved if its first line is `# name.py`; all others of a page are one program,
                 which pytest runs if it has tests
    ```sql       saved if its first line is `-- name.sql`
    ```text      the output of the program

Only ports differ, so that several readers can run concurrently. The machine's caches (jars, compiled
classes) are shared.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TIMEOUT_S: Final = 600
ENDED_WELL: Final = (0, 130)
INSTALLED: Final = ("scripts/install", "source .venv/bin/activate")
"""Commands that the reader skips, because the installation has already run them."""
CTRL_C: Final = "# Ctrl-C"
_ANY: Final = "…"
_COMMAND: Final = re.compile(r"^.*<<EOF\n(?:.*\n)*?EOF$|^.+$", re.MULTILINE)
_POLL_S: Final = 0.05
_PORT: Final = re.compile(r"\b(?:909[2-9]|8081|8088)\b")
_UNWANTED: Final = re.compile(
    r"^(?:%\d\||Traceback |Exception ignored )|\w+Warning: ", re.MULTILINE
)
"""Unwanted lines on standard error of successful commands, from librdkafka and Python.

A program must not write any lines there.
"""
_GOES_ON: Final = {
    re.compile(r"duolog broker "): "duolog broker ready on ",
    re.compile(r"duolog server "): "duolog console: ",
    re.compile(r"duolog start "): "duolog console: ",
    re.compile(r"duolog run (?!.*--explain)"): '" is running',
    re.compile(r"duolog sql -f "): "  RUNNING  ",
}
"""Commands that keep running, and the output that shows that they are ready."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: its language and its text."""

    language: str
    text: str

    @property
    def file(self) -> str:
        """The file name to save it under, or an empty text."""
        named = re.match(r"(?:#|--) ([\w/]+\.\w+)\n", self.text)
        return named[1] if named and self.language in {"python", "json", "sql", "text"} else ""


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [Block(language, text) for language, text in found]


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, each on one line, with their expected output."""
    text = block.text.replace("\\\n", "")
    match block.language:
        case "bash":
            for command in _COMMAND.findall(text):
                if command.startswith(CTRL_C) or not command.startswith("#"):
                    yield command.partition("  # ")[0].rstrip(), ""
        case "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                yield command, printed
        case _:
            pass


class Reader:
    """One reader of one page, with several terminals, some of them busy."""

    def __init__(self, home: Path) -> None:
        self.home = home
        """The working directory of commands; at first the home directory."""
        self._busy: dict[str, _Busy] = {}
        self._ports: dict[str, str] = {}
        (home / "bin").mkdir(parents=True)
        path = (str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
        self.environment: Mapping[str, str] = {
            "HOME": str(home),
            "PATH": os.pathsep.join(path),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            # Each JVM of the engine leaves a file.
            "SPARK_SUBMIT_OPTS": f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} "
            f"-Xlog:startuptime:file={home}/jvm-%p.log",
        }

    @property
    def servers(self) -> str:
        """The address that replaces the page's `127.0.0.1:9092`."""
        return f"127.0.0.1:{self._port('9092')}"

    def follow(self, page: Path) -> None:
        """Execute the page in order and check the output that it shows."""
        program, printed = "", ""
        for block in blocks_of(page):
            if block.file:
                (self.home / block.file).write_text(self._here(block.text))
            elif block.language == "python":
                program += self._here(block.text)
            elif block.language == "text":
                printed += block.text
            for command, shown in commands_of(block):
                self.type(command, shown)
        self.stop()
        if "\ndef test_" in program:
            (self.home / "test_page.py").write_text(program)
            self.type("python -m pytest -q -p no:cacheprovider test_page.py")
        elif program:
            ended = self._run([sys.executable, "-c", program])
            assert (ended.stdout, ended.stderr) == (printed, ""), ended.stderr or ended.stdout

    def jvms_started(self) -> int:
        """Return the number of engine JVMs started so far."""
        return len(list(Path(self.environment["HOME"]).glob("jvm-*.log")))

    def type(self, command: str, printed: str = "") -> str:
        """Run a command that must succeed or keep running; return its output."""
        if command.startswith(CTRL_C):
            return self._stop(list(self._busy)[-1])
        if command in INSTALLED:
            return ""
        if printed.startswith("error: "):
            refused = self._run(["bash", "-c", self._here(command)])
            assert refused.returncode not in ENDED_WELL, command
            assert_printed(command, self._there(refused.stderr), printed)
            return refused.stderr
        for pattern, sign in _GOES_ON.items():
            if pattern.match(command):
                return self._start(command, sign, printed)
        ended = self._run(["bash", "-euo", "pipefail", "-c", self._here(command)])
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
        assert not _UNWANTED.search(ended.stderr), f"{command}\n{ended.stderr}"
        if printed:
            assert_printed(command, self._there(ended.stdout), printed)
        return ended.stdout

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until the last running command has printed `text` this many times."""
        list(self._busy.values())[-1].wait_for(text, times)

    def stop(self) -> None:
        """Stop running commands with Ctrl-C, the last one first."""
        for kind in reversed(list(self._busy)):
            self._stop(kind)

    def kill(self) -> None:
        for busy in self._busy.values():
            busy.process.kill()
            busy.process.wait()

    def _start(self, command: str, sign: str, printed: str) -> str:
        kind = " ".join(command.split()[:2])
        if kind in self._busy:
            self._stop(kind)
        here = self._here(command)
        if kind == "duolog server":
            here += f" -b {self.servers} --listen 127.0.0.1:{self._port('8088')}"
        elif kind == "duolog start":
            here += f" --listen 127.0.0.1:{self._port('8088')} --broker-listen {self.servers}"
            here += f" --registry-listen 127.0.0.1:{self._port('8081')}"
        elif not re.search(r" (--listen|-b|--bootstrap-servers) ", here):
            here += f" --listen {self.servers}"
        busy = _Busy.start(here, self.home, self.environment)
        self._busy[kind] = busy
        busy.wait_for(sign)
        for line in printed.splitlines():
            busy.wait_for(self._here(line))
        return busy.printed()

    def _stop(self, kind: str) -> str:
        busy = self._busy.pop(kind)
        busy.process.send_signal(signal.SIGINT)
        status = busy.process.wait(TIMEOUT_S)
        assert status in ENDED_WELL, busy.printed()
        return busy.printed()

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.home,
            # Replace the defaults. A command that starts a broker must not have them.
            env={
                **self.environment,
                "DUOLOG_BOOTSTRAP_SERVERS": self.servers,
                "DUOLOG_REGISTRY": f"http://127.0.0.1:{self._port('8081')}",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )

    def _here(self, text: str) -> str:
        """Replace the ports of the page by free ones."""
        return _PORT.sub(lambda found: self._port(found[0]), text)

    def _there(self, text: str) -> str:
        """Replace the free ports by those of the page."""
        for port, free in self._ports.items():
            text = text.replace(f":{free}", f":{port}")
        return text

    def _port(self, port: str) -> str:
        if port not in self._ports:
            self._ports[port] = free_port()
        return self._ports[port]


_KEPT: Final = ("JAVA_HOME", "SPARK_LAUNCHER_OPTS", "LANG")


@dataclass(slots=True)
class _Busy:
    """A terminal in which a command keeps running."""

    process: subprocess.Popen[bytes]
    output: Path

    @classmethod
    def start(cls, command: str, home: Path, environment: Mapping[str, str]) -> "_Busy":
        output = home / f"terminal-{len(list(home.glob('terminal-*'))) + 1}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        return cls(process, output)

    def printed(self) -> str:
        return self.output.read_text()

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it has printed a text this many times; `…` matches any text."""
        pattern = re.escape(text).replace(_ANY, ".*")
        deadline = time.monotonic() + TIMEOUT_S
        while len(re.findall(pattern, self.printed())) < times:
            assert self.process.poll() is None, f"ended: {self.printed()}"
            assert time.monotonic() < deadline, f'"{text}" was not printed: {self.printed()}'
            time.sleep(_POLL_S)


def free_port() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return str(server.getsockname()[1])


def assert_printed(command: str, printed: str, expected: str) -> None:
    """Compare output: a line `…` matches any lines, `…` in a line any text."""
    parts = re.split(rf"^{_ANY}$\n?", expected, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*".join(re.escape(part).replace(_ANY, ".*") for part in parts)
    assert re.fullmatch(pattern, printed), (
        f"$ {command}\n{printed}\nis not, as the page shows,\n{expected}"
    )

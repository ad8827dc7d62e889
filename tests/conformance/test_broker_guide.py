"""Every command of docs/guide/broker.md runs as it stands there, in order, in a clean home.

Only the ports differ: two of these may run at one time.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from conformance.kafka.peer import TOOL_OPTIONS, fetch
from conftest import RequireProgram

PAGE: Final = Path(__file__).parents[2] / "docs/guide/broker.md"
READY: Final = "duolog broker ready on "
TIMEOUT_S: Final = 60
OURS: Final = ("duolog ", "echo ")
TOOLS: Final = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}


def commands() -> list[str]:
    """Return the commands of the page, each on one line."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return "".join(blocks).replace("\\\n", "").splitlines()


class Reader:
    """Somebody who types what stands on the page; a broker runs until the next one is typed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._broker: subprocess.Popen[str] | None = None
        self._ports = {"9092": free_port(), "9093": free_port()}
        self.servers = f"127.0.0.1:{self._ports['9092']}"
        path = (str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
        self._environment: Mapping[str, str] = {
            "HOME": str(home),
            "PATH": os.pathsep.join(path),
            "DUOLOG_BOOTSTRAP_SERVERS": self.servers,
        }

    def type(self, command: str) -> str:
        """Run a command that must end well; return what it prints."""
        for port, free in self._ports.items():
            command = command.replace(f":{port}", f":{free}")
        if command.startswith("duolog broker "):
            return self._start(command)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self._home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def stop(self) -> None:
        """End the broker as Ctrl-C does."""
        if self._broker is not None:
            self._broker.send_signal(signal.SIGINT)
            self._broker.communicate(timeout=TIMEOUT_S)
            assert self._broker.returncode == 0
        self._broker = None

    def kill(self) -> None:
        if self._broker is not None:
            self._broker.kill()
            self._broker.communicate()

    def _start(self, command: str) -> str:
        self.stop()
        self._broker = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._home,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._broker.stdout is not None
        line = self._broker.stdout.readline()
        assert line == f"{READY}{self.servers}\n"
        return line


def free_port() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return str(server.getsockname()[1])


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    someone = Reader(tmp_path)
    yield someone
    someone.kill()


def test_every_command_of_duolog_on_the_page_runs(reader: Reader) -> None:
    printed = {command: reader.type(command) for command in commands() if command.startswith(OURS)}
    reader.stop()

    assert "orders" in printed["duolog topics list"]
    assert '{"place":"park"}' in printed["duolog consume visits --from-beginning --until-end"]
    assert "billing" in printed["duolog groups list"]
    assert "offset=0" in printed["duolog dump-log data/broker/topics/*/0 --records"]


def test_every_line_on_the_page_is_one_that_is_tried() -> None:
    assert [line for line in commands() if not line.startswith((*OURS, *TOOLS))] == []


def test_the_tools_of_kafka_on_the_page_run(
    reader: Reader, tmp_path: Path, require_program: RequireProgram
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    (tmp_path / "bin").mkdir()
    for name, main in TOOLS.items():
        tool = tmp_path / "bin" / name
        tool.write_text(
            f'#!/bin/sh\nexec java {" ".join(TOOL_OPTIONS)} -cp "{fetch()}/*" {main} "$@"\n'
        )
        tool.chmod(0o755)
    before: dict[str, Callable[[str], None]] = {"kafka-transactions.sh": pay}

    for command in commands():
        if command.startswith(tuple(before)):
            before.pop(command.split()[0])(reader.servers)
        reader.type(command)
    reader.stop()


def pay(bootstrap_servers: str) -> None:
    """Leave a transactional id behind, of which the page asks."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "payments"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("visits", "paid")
    producer.commit_transaction(TIMEOUT_S)

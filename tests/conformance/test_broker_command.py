"""`duolog broker` as a user runs it: in the current directory, with a relative path."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

READY = "duolog broker ready on "
STOP_S = 30


@contextmanager
def broker(cwd: Path, *words: str) -> Iterator[str]:
    """Run a broker in the directory `cwd`, and stop it as a service manager does."""
    command = [sys.executable, "-P", "-m", "duolog", "broker", "--listen", "127.0.0.1:0", *words]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith(READY)
            yield line.removeprefix(READY).strip()
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_S) == 0
        finally:
            process.kill()


def duolog(servers: str, *words: str, stdin: str = "") -> str:
    command = [sys.executable, "-m", "duolog", *words, "-b", servers]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def damage(data: Path, topic: str) -> None:
    """Change a byte inside partition 1."""
    topics = data / "topics"
    directory = next(path for path in topics.iterdir() if topic in (path / "topic").read_text())
    with next((directory / "1").glob("*.log")).open("r+b") as file:
        file.seek(80)
        (byte,) = file.read(1)
        file.seek(80)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("form", ["option", "file"])
def test_relative_data_directory_survives_restarts(tmp_path: Path, form: str) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere" / "deep"
    here.mkdir()
    elsewhere.mkdir(parents=True)
    (here / "server.properties").write_text("log.dirs=./var/data\n")
    words = ("--data", "./var/data") if form == "option" else ("--config", "server.properties")
    read_all = ("consume", "orders", "--from-beginning", "--until-end", "-f", "%k=%v\\n")
    with broker(here, *words) as servers:
        duolog(servers, "topics", "create", "orders", "-c", "cleanup.policy=compact")
        duolog(servers, "produce", "orders", "-K", ":", stdin="a:1\nb:2\n")

    with broker(here, *words) as servers:
        duolog(servers, "produce", "orders", "-K", ":", stdin="c:3\n")
        kept = duolog(servers, *read_all)
    with broker(elsewhere, "--data", "../../here/var/data") as servers:
        moved = duolog(servers, *read_all)

    assert kept.split() == ["a=1", "b=2", "c=3"]
    assert moved == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "here"]
    assert sorted(path.name for path in here.iterdir()) == ["server.properties", "var"]
    assert list(elsewhere.iterdir()) == []


def test_only_the_damaged_partition_has_no_leader(tmp_path: Path) -> None:
    with broker(tmp_path, "--data", "data") as servers:
        duolog(servers, "topics", "create", "orders", "-p", "2")
        for partition in ("0", "1"):
            for _ in range(2):
                duolog(servers, "produce", "orders", "-p", partition, stdin="v" * 50 + "\n")
    damage(tmp_path / "data", "orders")

    with broker(tmp_path, "--data", "data") as servers:
        described = duolog(servers, "topics", "describe", "orders", "-o", "json")
        duolog(servers, "produce", "orders", "-p", "0", stdin="w\n")
        duolog(servers, "topics", "delete", "orders", "--yes")

    rows = json.loads(described)
    assert [(row["leader"], row.get("high_watermark")) for row in rows] == [(0, 2), (-1, None)]


def test_ignored_kafka_settings_are_logged_once_at_startup(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "process.roles=broker,controller\nzookeeper.connect=localhost:2181\n"
        "num.network.threads=3\nnum.partitions=5\nlog.dirs=data\n"
    )
    command = [sys.executable, "-m", "duolog", "broker", "--listen", "127.0.0.1:0"]
    command += ["--config", "server.properties", "-c", "num.io.threads=8"]
    command += ["--override", "broker.id=3", "--set", "unclean.leader.election.enable=true"]

    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(READY)
        process.send_signal(signal.SIGTERM)
        _, reported = process.communicate(timeout=STOP_S)

    assert process.returncode == 0
    assert reported.count("no effect") == 1
    (line,) = [line for line in reported.splitlines() if "no effect" in line]
    assert line.endswith(
        "settings=num.io.threads,num.network.threads,process.roles,"
        "unclean.leader.election.enable,zookeeper.connect"
    )

"""The commands and the health check in deploy/ work; only addresses and paths differ here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from architecture.deploy_files import dockerfile, health_check, unit_command, words_of
from conformance.kafka.peer import free_ports
from waiting import wait_until

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("name", ["image", "unit"])
def test_the_broker_starts_and_is_healthy_until_it_stops(tmp_path: Path, name: str) -> None:
    words = words_of(dict(dockerfile()[-1])["CMD"]) if name == "image" else unit_command()[1:]
    ports = dict(zip(("9092", "9404"), map(str, free_ports(2)), strict=True))

    def here(word: str) -> str:
        word = word.replace("/var/lib/duolog", str(tmp_path))
        return re.sub(r"\b(9092|9404)\b", lambda found: ports[found[0]], word)

    command = [sys.executable, "-m", "duolog", *map(here, words)]
    check = [sys.executable, *map(here, health_check()[1:])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        wait_until(lambda: _healthy(check), "the health check succeeds")
        process.terminate()
        assert process.wait(60) == 0

    assert ready.startswith("duolog broker ready on ")
    assert not _healthy(check)
    assert (tmp_path / "broker").is_dir()


def test_all_servers_of_the_image_start_are_healthy_and_end_by_sigterm(tmp_path: Path) -> None:
    words = words_of(dict(dockerfile("start.Dockerfile")[-1])["CMD"])
    ports = dict(zip(("8088", "9092", "8081"), map(str, free_ports(3)), strict=True))

    def here(word: str) -> str:
        word = word.replace("/var/lib/duolog", str(tmp_path)).replace("0.0.0.0:", "127.0.0.1:")
        return re.sub(r"\b(8088|9092|8081)\b", lambda found: ports[found[0]], word)

    command = [sys.executable, "-m", "duolog", *map(here, words)]
    check = [sys.executable, *map(here, health_check("start.Dockerfile")[1:])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        wait_until(lambda: _healthy(check), "the health check succeeds")
        process.terminate()
        assert process.wait(60) == 0
        lines = process.stdout.read().splitlines()

    ready = {line.split()[1] for line in lines if " ready on " in line}
    assert ready == {"broker", "registry", "server"}
    assert not _healthy(check)
    assert (tmp_path / "admin.password").exists()


def _healthy(check: list[str]) -> bool:
    return subprocess.run(check, capture_output=True, timeout=60, check=False).returncode == 0

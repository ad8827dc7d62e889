"""`duolog start` as its users run it: processes, signals, real HTTP."""

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

import waiting
from conformance.server.started import Started, started


def get(url: str, user: str = "", ca: Path | None = None) -> Any:
    request = urllib.request.Request(url)  # noqa: S310 - an address that the test has started
    if user:
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    context = None if ca is None else ssl.create_default_context(cafile=ca)
    with urllib.request.urlopen(  # noqa: S310 - as above
        request, context=context, timeout=waiting.DEADLINE_S
    ) as answer:
        return json.load(answer)


def children_of(pid: int) -> dict[str, int]:
    """Return the processes that a process has started, by their command of `duolog`."""
    found = {}
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == pid and b"duolog" in words:
            found[words[words.index(b"duolog") + 1].decode()] = int(directory.name)
    return found


def test_one_command_starts_all_three_and_ctrl_c_stops_them(tmp_path: Path) -> None:
    with started(tmp_path) as one:
        addresses = one.ready()
        info = get(f"{addresses['server']}/info")["KsqlServerInfo"]
        assert get(f"{addresses['registry']}/subjects") == []
        cluster = AdminClient({"bootstrap.servers": addresses["broker"]})
        assert info["kafkaClusterId"] == cluster.describe_cluster().result(60).cluster_id
        children = children_of(one.process.pid)
        assert set(children) == {"registry", "server"}

        assert one.stop() == 0

    assert [name for name, pid in children.items() if Path(f"/proc/{pid}").exists()] == []
    log = one.log()
    stops = [log.index(f"{name} has stopped") for name in ("server", "registry", "broker")]
    assert stops == sorted(stops), "each stops before the servers whose client it is"
    assert "Traceback" not in log


def test_a_second_start_goes_on_with_what_the_first_has_kept(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        before = get(f"{first.ready()['server']}/info")
        assert first.stop(signal.SIGTERM) == 0
    (tmp_path / "start.log").unlink()

    with started(tmp_path) as second:
        assert get(f"{second.ready()['server']}/info") == before


def test_the_same_data_cannot_be_used_twice_at_once(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        first.ready()
        other = tmp_path / "other"
        other.mkdir()
        (other / "data").symlink_to(tmp_path / "data")

        second = Started(other)
        status = second.process.wait(waiting.DEADLINE_S)

        assert status not in {0, None}
        assert "is in use" in second.log(), second.log()
        assert get(f"{first.ready()['server']}/info")


def test_a_server_that_is_killed_comes_back_on_its_address(tmp_path: Path) -> None:
    with started(tmp_path) as one:
        address = one.ready()["server"]
        os.kill(children_of(one.process.pid)["server"], signal.SIGKILL)

        def answers() -> bool:
            try:
                return bool(get(f"{address}/info"))
            except (urllib.error.URLError, ConnectionError):
                return False

        waiting.wait_until(lambda: "starting it again" in one.log(), "the end is not noticed")
        waiting.wait_until(answers, "the server does not come back")
        assert one.stop() == 0


def test_an_address_in_use_ends_all_of_them_with_the_reason(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        taken = first.ready()["server"].removeprefix("http://")
        other = tmp_path / "other"
        other.mkdir()

        second = Started(other, "--listen", taken)
        status = second.process.wait(waiting.DEADLINE_S)

        assert status != 0
        assert "already in use" in second.log(), second.log()
        assert f"{taken}" in second.log()
        assert children_of(second.process.pid) == {}


def test_a_team_has_tls_logins_and_one_administrator(tmp_path: Path) -> None:
    with started(tmp_path, "--profile", "team") as one:
        addresses = one.ready()
        data = tmp_path / "data"
        ca = data / "certificates" / "ca.pem"
        admin = f"admin:{(data / 'admin.password').read_text().strip()}"
        for url in (f"{addresses['server']}/info", f"{addresses['registry']}/subjects"):
            assert url.startswith("https://")
            for user in ("", "admin:wrong"):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    get(url, user, ca)
                with refused.value:
                    assert refused.value.code == 401
            assert get(url, admin, ca) is not None
        command = [sys.executable, "-P", "-m", "duolog", "users", "list"]
        listed = subprocess.run(
            [
                *command,
                "-b",
                addresses["broker"],
                "--client-properties",
                str(data / "admin.properties"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=waiting.DEADLINE_S,
        )
        assert listed.returncode == 0, listed.stderr
        assert "admin" in listed.stdout
        assert admin.partition(":")[2] not in one.log()

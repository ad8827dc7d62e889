"""Each exit status that `duolog --help` documents, from commands as a user calls them."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.command import Duolog
from duolog.cli.main import cli
from duolog.runtime.broker_process import BrokerProcess

CASES = (
    (0, ("topics", "list"), ""),
    (1, ("produce", "there", "-K", ":"), "no separator\n"),
    (1, ("topics", "delete", "there"), "n\n"),
    (2, ("topics", "create", "there", "-c", "retention.mss=1"), ""),
    (2, ("topics", "create", "spaced out"), ""),
    (2, ("consume", "there", "-f", "%z"), ""),
    (2, ("produce", "there", "-X", "foo=bar"), ""),
    (1, ("produce", "there"), "x" * 2_000_000),
    (2, ("consume", "--topic", "there"), ""),
    (2, ("topics", "create", "crowded", "-p", "100000000"), ""),
    (2, ("consume", "there", "-e", "--offset", f"@{10**20}"), ""),
    (2, ("produce", "there", "-t", f"{10**20}"), "1\n"),
    (2, ("produce", "there", "-p", f"{10**10}"), "1\n"),
    (2, ("topics", "delete-records", "there", "--before", f"{10**20}", "--yes"), ""),
    (2, ("consume", "there", "-g", "", "-e"), ""),
    (3, ("consume", "nowhere", "-e"), ""),
    (3, ("consume", "there", "-e", "-p", "7"), ""),
    (3, ("produce", "there", "-p", "7"), "1\n"),
    (3, ("groups", "describe", "nobody"), ""),
    (4, ("topics", "delete", "there", "--yes"), ""),
    (6, ("topics", "create", "there"), ""),
)


@pytest.fixture(scope="module")
def duolog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duolog]:
    settings = {"delete.topic.enable": "false"}
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data", settings=settings) as broker:
        command = Duolog(broker.bootstrap_servers)
        assert command("topics", "create", "there").returncode == 0
        yield command


@pytest.mark.parametrize(("status", "words", "stdin"), CASES, ids=lambda value: str(value)[:60])
def test_command_exits_with_the_status_that_help_documents(
    duolog: Duolog, status: int, words: tuple[str, ...], stdin: str
) -> None:
    done = duolog(*words, stdin=stdin)

    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", ["topics list", "consume there --from-beginning -e"])
def test_a_closed_standard_output_is_not_an_error(duolog: Duolog, words: str) -> None:
    command = f"{sys.executable} -m duolog {words} -b {duolog.bootstrap_servers} >&-"

    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_write_error_on_standard_output_is_reported(duolog: Duolog) -> None:
    command = f"{sys.executable} -m duolog topics list -b {duolog.bootstrap_servers} > /dev/full"

    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unreachable_broker_is_unavailable(duolog: Duolog) -> None:
    assert duolog("topics", "list", servers="127.0.0.1:1").returncode == 5


def test_used_data_directory_or_address_is_a_conflict(duolog: Duolog, tmp_path: Path) -> None:
    address = duolog.bootstrap_servers
    data = str(tmp_path / "data")
    with BrokerProcess(tmp_path / "data"):
        same_data = duolog.run("broker", "--data", data, "--listen", "127.0.0.1:0")

    same_address = duolog.run("broker", "--data", data, "--listen", address)

    assert (same_data.returncode, same_address.returncode) == (6, 6)
    assert "is in use" in same_data.stderr
    assert "Address already in use" in same_address.stderr


def test_help_lists_all_statuses() -> None:
    reported = CliRunner().invoke(cli, ["--help"]).output.partition("Exit status:")[2]

    listed = {int(number) for number in re.findall(r"(?:^ +|· )(\d+) ", reported, re.MULTILINE)}
    assert listed == {status for status, _, _ in CASES} | {5, 130, 141, 143}

from pathlib import Path

import pytest
from click.testing import CliRunner

from duolog.cli.main import cli
from duolog.runtime import broker_process
from duolog.runtime.errors import BrokerUnavailable


def run(*words: str) -> tuple[int, str]:
    done = CliRunner(env={"DUOLOG_BOOTSTRAP_SERVERS": ""}).invoke(cli, ["mirror", *words])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-b", "127.0.0.1:1"), "Missing option '--to'"),
        (("--to", "127.0.0.1:1"), "Name the source with either"),
        (("--to", "127.0.0.1:1", "-b", "127.0.0.1:2", "--data", "."), "Name the source with"),
        (("--to", "127.0.0.1:1", "--data", "nowhere"), "does not contain the data"),
        (("--to", "127.0.0.1:1", "-b", "127.0.0.1:2", "--topics", "("), "not a regular expression"),
        (("--to", "127.0.0.1:1", "-b", "127.0.0.1:2", "--follow", "--dry-run"), "--follow cannot"),
        (("--to", "127.0.0.1:1", "-b", "127.0.0.1:2", "--to-property", "x"), "not NAME=VALUE"),
    ],
)
def test_wrong_options_are_reported_before_a_connection(
    words: tuple[str, ...], message: str
) -> None:
    status, text = run(*words)

    assert status == 2
    assert message in " ".join(text.split())


@pytest.mark.parametrize(
    ("more", "column"), [((), "checksum"), (("--dry-run",), "action")], ids=["run", "dry-run"]
)
def test_columns_are_described_without_a_connection(more: tuple[str, ...], column: str) -> None:
    status, text = run("--to", "127.0.0.1:1", "-b", "127.0.0.1:2", "-o", "help", *more)

    assert status == 0
    assert column in text


def test_a_data_directory_takes_precedence_over_the_environment(tmp_path: Path) -> None:
    words = ["mirror", "--to", "127.0.0.1:1", "--data", str(tmp_path)]

    done = CliRunner(env={"DUOLOG_BOOTSTRAP_SERVERS": "127.0.0.1:2"}).invoke(cli, words)

    assert "does not contain the data of a broker" in " ".join(done.output.split())


def test_a_broker_that_the_mirror_starts_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, str] = {}

    class NotStarted(broker_process.BrokerProcess):
        def start(self, timeout_s: float = 0) -> None:
            found.update(self._settings)
            raise BrokerUnavailable("the broker did not start")

    monkeypatch.setattr(broker_process, "BrokerProcess", NotStarted)
    (tmp_path / "meta.properties").touch()

    run("--to", "127.0.0.1:1", "--data", str(tmp_path))

    assert found["log.cleaner.enable"] == "false"
    week_ms = 7 * 24 * 3600 * 1000
    assert int(found["log.retention.check.interval.ms"]) > week_ms
    assert int(found["offsets.retention.check.interval.ms"]) > week_ms
    assert found["transaction.abort.timed.out.transaction.cleanup.interval.ms"] == "1000"

from pathlib import Path

import pytest

from duolog.cli.demo.command import delete_data
from duolog.cli.main import main


def test_fresh_forgets_what_the_demo_keeps_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "broker" / "deep").mkdir(parents=True)
    (tmp_path / "engine.log").write_text("lines")
    (tmp_path / "thesis.txt").write_text("mine")

    delete_data(tmp_path)

    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_fresh_on_a_users_cluster_asks_for_confirmation(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["demo", "--fresh", "--bootstrap-servers", "127.0.0.1:1"])

    assert status == 2
    assert "add --yes" in capsys.readouterr().err


def test_a_machine_without_java_is_reported_before_a_broker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))

    status = main(["demo", "--data", str(tmp_path / "data")])

    assert status == 1
    assert f"JAVA_HOME has no Java: {tmp_path / 'gone'}" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("words", [("--rate", "5"), ("--format", "json"), ("-b", "127.0.0.1:1")])
def test_options_without_effect_on_a_sql_server_are_refused(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["demo", "--server", *words])

    assert status == 2
    assert "cannot be combined with --server" in capsys.readouterr().err

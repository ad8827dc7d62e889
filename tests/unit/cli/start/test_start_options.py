"""Options of `duolog start` for the SQL server that it starts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import duolog.cli.commands.start as command
from duolog.cli.commands.start import Given, start


def given(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[Given]:
    """Return the options that the command reads, without a start; none if it refuses them."""
    found: list[Given] = []
    monkeypatch.setattr(command, "_run_all", found.append)
    CliRunner().invoke(start, words)
    return found


def test_the_file_of_query_properties_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits").write_text("duolog.query.jvm.groups.max=1\n")
    monkeypatch.chdir(tmp_path)

    (one,) = given(monkeypatch, "--data", "data", "--query-properties", "limits")
    (none,) = given(monkeypatch, "--data", "data")

    words = one.for_server()
    assert words[words.index("--query-properties") + 1] == str(tmp_path / "limits")
    assert "--query-properties" not in none.for_server()
    assert given(monkeypatch, "--query-properties", "nowhere") == []


def test_the_first_host_is_that_of_the_server_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hosts = ("--host", "db.example", "--host", "10.0.0.7")

    (one,) = given(monkeypatch, "--data", "data", "--profile", "team", *hosts)
    (none,) = given(monkeypatch, "--data", "data")

    words = one.for_server()
    assert words[words.index("--advertise") + 1] == "db.example:0"
    assert "--advertise" not in none.for_server()

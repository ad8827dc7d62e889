"""The registry of `duolog sql`: options and variables that other commands have, too."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from duolog.cli.commands import sql
from duolog.cli.kafka import connection
from duolog.registry.client.requests import AUTHORITIES_VARIABLE, TOKEN_VARIABLE

URL = "ksql.schema.registry.url"
USER = "ksql.schema.registry.basic.auth.user.info"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """The properties of the engines that are opened; no engine is."""
    found: list[Mapping[str, str]] = []

    def record(*given: Any) -> Any:
        found.append(given[3])
        raise KeyboardInterrupt

    for name in ("", "_USER", "_PASSWORD", "_PASSWORD_FILE"):
        monkeypatch.delenv(f"DUOLOG_REGISTRY{name}", raising=False)
    monkeypatch.setattr(connection, "ensure_reachable", lambda _servers: None)
    monkeypatch.setattr("duolog.cli.signals.end_in_order_on_signals", lambda: None)
    monkeypatch.setattr(sql, "_open_engine", record)
    return found


def run(tmp_path: Path, *words: str) -> None:
    CliRunner().invoke(sql.sql, ["-e", "SHOW STREAMS;", "--data", str(tmp_path), *words])


def test_the_variable_of_other_commands_names_the_registry(
    opened: list[Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUOLOG_REGISTRY", "registry:8081")

    run(tmp_path)

    assert opened == [{URL: "http://registry:8081"}]


def test_the_user_is_passed_with_its_password(
    opened: list[Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUOLOG_REGISTRY_PASSWORD", "secret")

    run(tmp_path, "--registry", "https://a,b:8081", "--registry-user", "ann")

    assert opened == [{URL: "https://a,http://b:8081", USER: "ann:secret"}]


@pytest.mark.parametrize("named", ["http://other:8081"])
def test_a_property_wins(
    opened: list[Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("DUOLOG_REGISTRY", "http://registry:8081")
    monkeypatch.setenv("DUOLOG_REGISTRY_USER", "ann")

    run(tmp_path, "--set", f"{URL}={named}")

    assert opened == [{URL: named}]


def test_a_token_and_authorities_reach_the_process_and_its_jvm(
    opened: list[Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (TOKEN_VARIABLE, AUTHORITIES_VARIABLE):
        monkeypatch.setenv(name, "before")
    token, authorities = tmp_path / "token", tmp_path / "ca.pem"
    token.write_text("abc\n")
    authorities.write_text("")
    words = ["--registry-token-file", str(token), "--registry-ca-file", str(authorities)]

    run(tmp_path, "--registry", "https://a", *words)

    assert opened == [{URL: "https://a"}]
    assert os.environ[TOKEN_VARIABLE] == "abc"
    assert os.environ[AUTHORITIES_VARIABLE] == str(authorities)


def test_without_a_registry_there_is_no_property(
    opened: list[Mapping[str, str]], tmp_path: Path
) -> None:
    run(tmp_path)

    assert opened == [{}]

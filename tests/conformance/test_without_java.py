"""Broker, command line, SQL catalog and pull queries run on a machine without Java."""

from collections.abc import Iterator

import pytest

from conformance.command import Duolog
from duolog.testing import EmbeddedCluster

CREATE = (
    "CREATE SOURCE TABLE users (id STRING PRIMARY KEY, city STRING) "
    "WITH (KAFKA_TOPIC='users', VALUE_FORMAT='JSON');"
)


@pytest.fixture
def duolog(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Duolog]:
    directory = tmp_path_factory.mktemp("without-java")
    monkeypatch.setenv("PATH", str(directory))
    # Also keeps the packaged Java out, if it is installed.
    monkeypatch.setenv("JAVA_HOME", str(directory / "nowhere"))
    with EmbeddedCluster(data_dir=directory / "broker") as cluster:
        yield Duolog(cluster.bootstrap_servers)


def test_a_machine_without_java_produces_and_answers_pull_queries(duolog: Duolog) -> None:
    written = duolog("produce", "users", "-K", ":", stdin='bob:{"city": "Rome"}\n')
    listed = duolog("topics", "list")
    created = duolog("sql", "-e", CREATE)
    rows = duolog("sql", "-o", "csv", "-e", "SELECT * FROM users WHERE id = 'bob'")

    assert written.returncode == 0, written.stderr
    assert "users" in listed.stdout
    assert created.returncode == 0, created.stderr
    assert rows.stdout.splitlines()[-1] == "bob,Rome", rows.stderr

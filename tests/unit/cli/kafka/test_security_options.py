"""Options about security: no secret on a command line, and the profile's addresses."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from duolog.cli.kafka.cluster import Cluster, cluster_options
from duolog.security.clients.profiles import profiles_file

LOGIN = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=a\n"
    "sasl.password=planted\n"
)


@click.command()
@cluster_options
def show(cluster: Cluster) -> None:
    click.echo(f"{cluster.bootstrap_servers} {cluster.properties.get('sasl.password')}")
    click.echo(repr(cluster), err=True)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DUOLOG_CLIENT_PROPERTIES", "DUOLOG_PROFILE", "DUOLOG_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    profiles_file().parent.mkdir()
    profiles_file().write_text('[p]\n"bootstrap.servers" = "p:1"\n"client.properties" = "c"\n')
    (profiles_file().parent / "c").write_text(LOGIN)
    path = tmp_path / "client.properties"
    path.write_text(LOGIN)
    return path


@pytest.mark.parametrize(
    "name", ["sasl.password", "ssl.key.password", "ssl.key.pem", "sasl.jaas.config"]
)
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(file: Path, name: str) -> None:
    done = CliRunner().invoke(show, ["-X", f"{name}=planted"])

    assert done.exit_code == 2
    assert "--client-properties" in done.output
    assert "planted" not in done.output


def test_a_file_gives_the_login_and_its_representation_hides_it(file: Path) -> None:
    done = CliRunner().invoke(show, ["-b", "h:1", "--client-properties", str(file)])

    assert done.stdout == "h:1 planted\n"
    assert "planted" not in done.stderr


@pytest.mark.parametrize(
    ("words", "servers"), [([], "p:1"), (["-b", "h:1"], "h:1"), (["-X", "client.id=a"], "p:1")]
)
def test_a_profile_gives_the_addresses_unless_the_command_does(
    file: Path, words: list[str], servers: str
) -> None:
    done = CliRunner().invoke(show, ["--profile", "p", *words])

    assert done.stdout == f"{servers} planted\n"


def test_an_address_in_the_environment_overrides_the_profile(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUOLOG_BOOTSTRAP_SERVERS", "e:1")

    assert CliRunner().invoke(show, ["--profile", "p"]).stdout == "e:1 planted\n"

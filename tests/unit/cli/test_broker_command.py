from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from duolog.cli.commands.broker import broker
from duolog.cli.commands.run import run
from duolog.cli.commands.topics import topics
from duolog.cli.demo.command import demo
from duolog.cli.kafka.registry_tls import RegistryTlsOptions, registry_tls_options
from duolog.cli.kafka.servers_of_broker import registry_of
from duolog.cli.options import read_assignment
from duolog.core.errors import ConfigError
from duolog.runtime.broker_process import BrokerProcess


def test_a_setting_may_hold_an_equals_sign() -> None:
    assert read_assignment("a.b=c=d") == ("a.b", "c=d")


@pytest.mark.parametrize("text", ["durability", "=os", ""])
def test_a_setting_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a setting"):
        read_assignment(text)


@pytest.mark.parametrize(
    "name",
    ["ssl.key.password", "listener.name.out.ssl.keystore.key", "confluent.basic.auth.user.info"],
)
def test_a_secret_is_no_argument_of_the_broker(name: str, tmp_path: Path) -> None:
    """All users of a machine see the arguments of programs."""
    arguments = ["--data", str(tmp_path / "data"), "--set", f"{name}=planted"]

    result = CliRunner().invoke(broker, arguments)
    process = BrokerProcess(tmp_path / "data", settings={name: "planted"})

    assert isinstance(result.exception, ConfigError)
    assert name in result.exception.message
    assert "planted" not in result.exception.render()
    with pytest.raises(ConfigError, match=name):
        process.prepare()
    assert not (tmp_path / "data").exists()


def test_a_registry_beyond_loopback_stops_the_start_before_the_broker_serves(
    tmp_path: Path,
) -> None:
    """The broker was ready, and stopped with a hint at options that it does not have."""
    arguments = ["--data", str(tmp_path / "data"), "--registry", "192.0.2.7:8081"]

    result = CliRunner().invoke(broker, arguments)

    assert isinstance(result.exception, ConfigError)
    assert '"192.0.2.7:8081"' in result.exception.message
    assert "--registry-tls-cert FILE" in result.exception.hint
    assert not (tmp_path / "data").exists()


def test_the_registry_of_a_broker_takes_its_risk_from_the_broker() -> None:
    settings = {"allow.insecure.listen": "true"}

    registry = registry_of("192.0.2.7:8081", None, settings)

    assert registry is not None
    assert registry._arguments == ("--insecure",)  # noqa: SLF001
    encrypted = ("--tls-cert", "server.pem")
    assert registry_of("192.0.2.7:8081", None, {}, encrypted) is not None


def test_options_of_tls_reach_the_registry_of_a_broker(tmp_path: Path) -> None:
    chain, key, authorities = (tmp_path / name for name in ("chain.pem", "key.pem", "ca.pem"))
    for path in (chain, key, authorities):
        path.touch()
    seen: list[RegistryTlsOptions] = []

    @click.command
    @registry_tls_options
    def command(registry_tls: RegistryTlsOptions) -> None:
        seen.append(registry_tls)

    files = ("--registry-tls-cert", str(chain), "--registry-tls-key", str(key))
    more = ("--registry-ca-file", str(authorities), "--registry-allow-host", "registry.example")
    assert CliRunner().invoke(command, [*files, *more]).exit_code == 0

    (tls,) = seen
    assert tls.authorities == authorities
    arguments = tls.arguments_at("192.0.2.7:8081")
    assert arguments == (
        *("--tls-cert", str(chain), "--tls-key", str(key)),
        *("--allow-host", "registry.example"),
    )
    registry = registry_of("192.0.2.7:8081", None, {}, arguments)
    assert registry is not None
    assert registry.address() == "https://192.0.2.7:8081"


@pytest.mark.parametrize("option", ["--registry-tls-key", "--registry-ca-file"])
def test_a_key_without_a_certificate_is_a_usage_error(option: str, tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.touch()
    data = ["--data", str(tmp_path / "data"), "--registry", "127.0.0.1:8081"]

    result = CliRunner().invoke(broker, [*data, option, str(file)])

    assert (result.exit_code, "--registry-tls-cert" in result.output) == (2, True)


def test_tls_without_a_registry_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "c.pem").touch()
    given = ["--data", str(tmp_path / "data"), "--registry-tls-cert", str(tmp_path / "c.pem")]

    result = CliRunner().invoke(broker, given)

    assert (result.exit_code, "need --registry" in result.output) == (2, True)


def test_a_missing_data_directory_is_a_usage_error() -> None:
    result = CliRunner().invoke(broker, [])

    assert result.exit_code == 2
    assert "log.dirs" in result.output


@pytest.mark.parametrize("command", [broker, run, demo])
def test_an_empty_data_directory_is_not_the_working_directory(command: click.Command) -> None:
    """`--data "$DIR"` without DIR filled the working directory."""
    arguments = [__file__] if command is run else []

    result = CliRunner().invoke(command, [*arguments, "--data", ""])

    assert result.exit_code == 2
    assert "check that the shell variable is set" in result.output


@pytest.mark.parametrize("option", ["-p", "-r"])
def test_numbers_that_no_protocol_holds_are_wrong_usage(option: str) -> None:
    """A trace of Python's was shown: too large to convert."""
    result = CliRunner().invoke(topics, ["create", "orders", option, "9" * 20])

    assert result.exit_code == 2
    assert "is not in the range" in result.output

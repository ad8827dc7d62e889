"""The files of deploy/ name things that exist, and follow the rules for services."""

import itertools
import re
import tomllib
from collections.abc import Callable, Mapping
from importlib.metadata import requires
from pathlib import Path
from typing import Final

import click
import pytest

from architecture.deploy_files import (
    DEPLOY,
    Yaml,
    compose,
    dockerfile,
    health_check,
    unit,
    unit_command,
    words_of,
)
from duolog.broker.settings.config_file import sorted_out
from duolog.cli.main import cli
from duolog.cli.options import read_assignments

ROOT: Final = DEPLOY.parent
DATA: Final = "/var/lib/duolog"


def image_command() -> list[str]:
    return words_of(dict(dockerfile()[-1])["CMD"])


def compose_service(file: str = "compose.yaml", name: str = "broker") -> dict[str, Yaml]:
    services = compose(file)["services"]
    assert isinstance(services, dict)
    service = services[name]
    assert isinstance(service, dict)
    return service


def compose_command(file: str = "compose.yaml", name: str = "broker") -> list[str]:
    command = compose_service(file, name)["command"]
    assert isinstance(command, list)
    return command


def service_command() -> list[str]:
    return unit_command()[1:]


COMMANDS: Final[Mapping[str, Callable[[], list[str]]]] = {
    "Dockerfile": image_command,
    "compose.yaml": compose_command,
    "duolog-broker.service": service_command,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_and_its_options_exist(name: str) -> None:
    words = COMMANDS[name]()
    with click.Context(cli) as context:
        command = cli.get_command(context, words[0])
    assert command is not None

    parsed = command.make_context(words[0], words[1:])

    assert parsed.args == []
    assert parsed.params["data_dir"] == Path(DATA, "broker")
    settings = sorted_out(read_assignments(parsed.params["assignments"]))
    assert settings.passed_over == ()
    assert settings.settings["metrics.listen"] == "127.0.0.1:9404"


def test_the_unit_of_all_servers_requires_logins_and_keeps_its_data_together() -> None:
    words = unit_command("duolog.service")[1:]
    with click.Context(cli) as context:
        command = cli.get_command(context, words[0])
    assert command is not None

    parsed = command.make_context(words[0], words[1:])

    assert parsed.args == []
    assert parsed.params["data_dir"] == Path(DATA)
    assert parsed.params["profile"] == "team"
    for option in ("listen", "broker_listen", "registry_listen"):
        assert parsed.params[option].startswith("127.0.0.1:")


TEAM: Final[Mapping[str, Callable[[], list[str]]]] = {
    "start.Dockerfile": lambda: words_of(dict(dockerfile("start.Dockerfile")[-1])["CMD"]),
    "compose.team.yaml": lambda: compose_command("compose.team.yaml", "duolog"),
}


@pytest.mark.parametrize("name", TEAM)
def test_containers_with_all_servers_require_logins_and_keep_their_data_together(
    name: str,
) -> None:
    words = TEAM[name]()
    with click.Context(cli) as context:
        command = cli.get_command(context, words[0])
    assert command is not None

    parsed = command.make_context(words[0], words[1:])

    assert (words[0], parsed.args) == ("start", [])
    assert (parsed.params["profile"], parsed.params["data_dir"]) == ("team", Path(DATA))
    assert len(parsed.params["hosts"]) == 1
    listening = {parsed.params[f"{kind}listen"] for kind in ("", "broker_", "registry_")}
    assert listening == {"0.0.0.0:8088", "0.0.0.0:9092", "0.0.0.0:8081"}


def test_the_image_of_all_servers_is_that_of_the_broker_with_another_command() -> None:
    ((kind, base), *rest) = dockerfile("start.Dockerfile")[-1]

    assert (kind, base) == ("FROM", "duolog")
    assert {name for name, _ in rest} == {"EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "CMD"}
    assert set(dict(rest)["EXPOSE"].split()) == {"8088", "9092", "8081"}


def test_the_team_keeps_its_data_and_checks_its_health_like_the_image() -> None:
    service = compose_service("compose.team.yaml", "duolog")
    check = service["healthcheck"]
    assert isinstance(check, dict)

    assert service["volumes"] == [f"duolog-data:{DATA}"]
    assert service["ports"] == ["8088:8088", "9092:9092", "8081:8081"]
    assert service["init"] == "true"
    assert words_of(str(check["test"])) == ["CMD", *health_check("start.Dockerfile")]


def test_the_image_is_slim_and_runs_without_privileges() -> None:
    *_, stage = dockerfile()
    given = [name for name, _ in stage]

    assert all(stage[0][1].startswith("python:3.12-slim") for stage in dockerfile())
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", dict(stage)["USER"])
    assert given.index("USER") > max(at for at, name in enumerate(given) if name == "RUN")
    assert [rest for name, rest in stage if name == "VOLUME"] == [DATA]
    assert given.count("HEALTHCHECK") == given.count("CMD") == given.count("ENTRYPOINT") == 1
    assert "9092" in dict(stage)["EXPOSE"].split()


def test_system_packages_leave_nothing_unneeded_in_the_image() -> None:
    (install,) = [rest for _, rest in dockerfile()[-1] if "apt-get install" in rest]

    assert "--no-install-recommends" in install
    assert "rm -rf /var/lib/apt/lists/*" in install
    assert "jre-headless" in install
    assert "jdk" not in install.replace("openjdk", "")


def test_the_image_installs_the_built_wheels() -> None:
    pattern = r"pip install --no-cache-dir /wheels/duolog_broker-\*\.whl /wheels/duolog-\*\.whl"
    code = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    copied = [rest for kind, rest in dockerfile()[0] if kind == "COPY"]
    installed = [rest for kind, rest in dockerfile()[0] if kind == "RUN"]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()

    # Both are named: with --find-links, pip could prefer a package of the same name from an index.
    assert any(need.startswith(f"{code}[engine]==") for need in requires("duolog") or ())
    assert copied == ["dist/*.whl /wheels/"]
    assert re.search(pattern, installed[0])
    assert "!dist/*.whl" in ignored


def test_compose_publishes_the_port_of_a_listener_on_loopback_only() -> None:
    service = compose_service()
    command = compose_command()
    listeners = {
        word.partition("://")[0]: word.rpartition(":")[2]
        for before, word in itertools.pairwise(command)
        if before == "--listen"
    }

    assert service["build"] == {"context": "..", "dockerfile": "deploy/Dockerfile"}
    assert service["ports"] == [f"127.0.0.1:{listeners['HOST']}:{listeners['HOST']}"]
    assert f"INTERNAL://broker:{listeners['INTERNAL']}" in command
    assert service["volumes"] == [f"broker-data:{DATA}"]
    assert compose()["volumes"] == {"broker-data": ""}


@pytest.mark.parametrize("name", ["duolog-broker.service", "duolog.service"])
def test_the_unit_is_whole_and_restarts_only_after_failures(name: str) -> None:
    sections = unit(name)
    service = dict(sections["Service"])

    assert set(sections) == {"Unit", "Service", "Install"}
    assert unit_command(name)[0] == "/opt/duolog/bin/duolog"
    assert service["DynamicUser"] == "yes"
    assert f"/var/lib/{service['StateDirectory']}" == DATA
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == "2 6"
    assert dict(sections["Install"])["WantedBy"] == "multi-user.target"


def test_every_file_is_described() -> None:
    text = (DEPLOY / "README.md").read_text()

    names = [path.name for path in DEPLOY.iterdir() if path.suffix not in {".md", ".dockerignore"}]

    assert [name for name in names if f"`{name}`" not in text] == []

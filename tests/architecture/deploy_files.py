"""Read the files of deploy/ without their tools: a Dockerfile, a block of YAML, a systemd unit."""

import json
import re
import shlex
from pathlib import Path
from typing import Final

DEPLOY: Final = Path(__file__).parents[2] / "deploy"

Yaml = dict[str, "Yaml"] | list[str] | str


def dockerfile(name: str = "Dockerfile") -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, each with its arguments."""
    text = (DEPLOY / name).read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest.strip()))
    return stages


def words_of(argument: str) -> list[str]:
    """Return the words of a command in exec form."""
    words = json.loads(argument)
    assert isinstance(words, list)
    return [str(word) for word in words]


def unit(name: str = "duolog-broker.service") -> dict[str, list[tuple[str, str]]]:
    """Return the sections of a systemd unit; a name can occur several times."""
    sections: dict[str, list[tuple[str, str]]] = {}
    section = ""
    for line in (DEPLOY / name).read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            sections[section] = []
        elif line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals, line
            sections[section].append((name, value))
    return sections


def unit_command(name: str = "duolog-broker.service") -> list[str]:
    (command,) = [value for setting, value in unit(name)["Service"] if setting == "ExecStart"]
    return shlex.split(command)


def health_check(name: str = "Dockerfile") -> list[str]:
    """Return the words of the health check of an image."""
    (check,) = [rest for kind, rest in dockerfile(name)[-1] if kind == "HEALTHCHECK"]
    return words_of(check.partition("CMD ")[2])


def compose(name: str = "compose.yaml") -> dict[str, Yaml]:
    """Return the Compose file, which uses block mappings, lists of texts and plain scalars."""
    lines = [
        line.rstrip()
        for line in (DEPLOY / name).read_text().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    found, rest = _mapping(lines, 0)
    assert rest == [], rest
    return found


def _mapping(lines: list[str], indent: int) -> tuple[dict[str, Yaml], list[str]]:
    found: dict[str, Yaml] = {}
    while lines and _indent(lines[0]) == indent:
        name, colon, scalar = lines[0].strip().partition(":")
        assert colon, f"not NAME: VALUE: {lines[0]}"
        assert name not in found, f"twice: {name}"
        lines = lines[1:]
        if scalar:
            found[name] = scalar.strip()
        elif lines and _indent(lines[0]) > indent:
            found[name], lines = _block(lines, _indent(lines[0]))
        else:
            found[name] = ""
    return found, lines


def _block(lines: list[str], indent: int) -> tuple[Yaml, list[str]]:
    if not lines[0].strip().startswith("- "):
        return _mapping(lines, indent)
    items: list[str] = []
    while lines and _indent(lines[0]) == indent and lines[0].strip().startswith("- "):
        items.append(lines[0].strip()[2:])
        lines = lines[1:]
    return items, lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

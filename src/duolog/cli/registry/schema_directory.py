"""Read a directory of schemas, as it is kept in git.

    schemas/
    ├─ orders-value.avsc        the schema of subject orders-value, in Avro
    ├─ customers-value.proto    .proto Protobuf, .json JSON Schema (or Avro, by its content)
    └─ schemas.toml             levels, modes and references; optional

    compatibility = "FULL"      # the global level

    [subjects."orders-value"]
    compatibility = "BACKWARD"
    mode = "READWRITE"
    references = { "customer.proto" = "customers-value" }   # or "customers-value:2"

A character that a file name cannot have is written as in URLs: `%2F` for a slash. A reference
without a version is to the version that the directory describes, or else to the latest one. Other
files and directories are ignored.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from duolog.cli.registry.schema_files import language_of, read_subject, read_text
from duolog.core.errors import ConfigError
from duolog.schemas.schema import Language

SETTINGS: Final = "schemas.toml"
_SPACE: Final = 0x20
_SUFFIXES: Final = (".avsc", ".proto", ".json")
_LEVELS: Final = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
_MODES: Final = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A schema in the directory.

    Attributes:
        references: the subject, and the version if one is named, by the name of the reference.
    """

    subject: str
    path: Path
    language: Language
    text: str
    references: Mapping[str, tuple[str, int | None]]


@dataclass(slots=True)
class Directory:
    """The contents of a directory of schemas.

    Attributes:
        files: the schemas, each after those that it refers to.
        levels: compatibility levels by subject; None is the global level.
        modes: modes by subject.
    """

    files: list[SchemaFile] = field(default_factory=list)
    levels: dict[str | None, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)


def read_directory(path: Path) -> Directory:
    """Return what a directory says.

    Raises:
        ConfigError: a file is not readable, or names something unknown.
    """
    found = Directory()
    references = _read_settings(path / SETTINGS, found)
    by_subject: dict[str, SchemaFile] = {}
    for file in sorted(path.iterdir()):
        known = file.suffix.lower() in _SUFFIXES
        if not known or not file.is_file() or file.name.startswith("."):
            continue
        subject = _subject_of(file)
        if subject in by_subject:
            raise ConfigError(
                f'two files have the schema of subject "{subject}"',
                detail=f"They are {by_subject[subject].path.name} and {file.name}.",
                hint="Remove one of them.",
            )
        text = read_text(file)
        by_subject[subject] = SchemaFile(
            subject, file, language_of(file, text), text, references.pop(subject, {})
        )
    for subject in references:
        raise ConfigError(
            f'{SETTINGS} has references of subject "{subject}", which has no file',
            hint=f"Add the file {subject}.avsc, .proto or .json, or remove the entry.",
        )
    found.files = _in_order(by_subject)
    return found


def _subject_of(file: Path) -> str:
    try:
        subject = unquote(file.stem, errors="strict")
        subject.encode()
    except UnicodeError as error:
        raise ConfigError(
            f"the name of the file {file.name!a} is not UTF-8",
            hint="Rename it to the name of its subject, in UTF-8.",
        ) from error
    if subject in {".", ".."} or any(ord(one) < _SPACE for one in subject):
        raise ConfigError(
            f"the name of the file {file.name!a} is not that of a subject",
            hint="Rename it: a subject has no control characters, and is more than dots.",
        )
    return subject


_References = dict[str, dict[str, tuple[str, int | None]]]


def _read_settings(path: Path, into: Directory) -> _References:
    if not path.exists():
        return {}
    try:
        given: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f'"{path}" is not TOML', detail=f"{error}.") from error
    except RecursionError as error:
        raise ConfigError(f'"{path}" is nested too deep') from error
    _ensure_known(path, "", given, ("compatibility", "subjects"))
    if "compatibility" in given:
        into.levels[None] = _one_of(path, "compatibility", given["compatibility"], _LEVELS)
    references: _References = {}
    for subject, one in _table(path, "subjects", given.get("subjects", {})).items():
        place = f'subjects."{subject}"'
        settings = _table(path, place, one)
        _ensure_known(path, place, settings, ("compatibility", "mode", "references"))
        if "compatibility" in settings:
            level = _one_of(path, f"{place}.compatibility", settings["compatibility"], _LEVELS)
            into.levels[subject] = level
        if "mode" in settings:
            into.modes[subject] = _one_of(path, f"{place}.mode", settings["mode"], _MODES)
        named = _table(path, f"{place}.references", settings.get("references", {}))
        if named:
            references[subject] = {name: _reference(path, name, to) for name, to in named.items()}
    return references


def _table(path: Path, place: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ConfigError(f'"{place}" in {path} must be a table', value=given)
    return given


def _ensure_known(path: Path, place: str, given: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ConfigError(
                f'unknown setting "{f"{place}.{name}".lstrip(".")}" in {path}',
                hint=f"Use {', '.join(known)}.",
            )


def _one_of(path: Path, place: str, given: Any, known: tuple[str, ...]) -> str:
    if not isinstance(given, str) or given.upper() not in known:
        raise ConfigError(
            f'"{place}" in {path} cannot be {given!r}', hint=f"Use one of {', '.join(known)}."
        )
    return given.upper()


def _reference(path: Path, name: str, to: Any) -> tuple[str, int | None]:
    if not isinstance(to, str) or not to:
        raise ConfigError(
            f'the reference "{name}" in {path} must be a subject, not {to!r}',
            hint='Write "customers-value", or "customers-value:2" for a version.',
        )
    subject, version = read_subject(to)
    return subject, int(version) if version.isdigit() else None


def _in_order(files: Mapping[str, SchemaFile]) -> list[SchemaFile]:
    """Return the files, each after those that it refers to.

    Raises:
        ConfigError: files refer to each other in a circle.
    """
    found: dict[str, SchemaFile] = {}
    inside: dict[str, None] = {}
    # A file is entered, and left after those that it refers to.
    waiting = [(file, False) for file in reversed(list(files.values()))]
    while waiting:
        file, leaves = waiting.pop()
        if leaves:
            del inside[file.subject]
            found[file.subject] = file
        elif file.subject in inside:
            circle = " → ".join([*inside, file.subject])
            raise ConfigError(
                "schemas refer to each other in a circle",
                detail=f"{circle}.",
                hint=f"Remove one of these references from {SETTINGS}.",
            )
        elif file.subject not in found:
            inside[file.subject] = None
            waiting.append((file, True))
            waiting += [
                (files[subject], False)
                for subject, _ in file.references.values()
                if subject in files
            ]
    return list(found.values())

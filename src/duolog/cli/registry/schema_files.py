"""Read schemas from files, and names of versions and references from the command line.

order.avsc      AVRO        order.json    AVRO if it is a record, an enum or fixed, else JSON
order.proto     PROTOBUF    another name  by its content
"""

import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

import click

from duolog.core.errors import ConfigError
from duolog.registry.client.admin import RegistryAdmin
from duolog.registry.json_text import load
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText

LATEST: Final = "latest"
BYTES_MAX: Final = 16 * 2**20
_OF_SUFFIX: Final = {".avsc": Language.AVRO, ".proto": Language.PROTOBUF}
_PROTOBUF: Final = re.compile(
    r"^\s*(syntax|edition|package|import|option|message|enum)\b", re.MULTILINE
)
_ONLY_AVRO: Final = frozenset(
    ("record", "enum", "fixed", "error", "int", "long", "float", "double", "bytes", "map")
)
"""Types of Avro that JSON Schema does not have."""
_VERSION: Final = re.compile(r"(.+):([0-9]+|latest)", re.DOTALL)


class SubjectVersion(NamedTuple):
    """A version of a subject as a user names it; the version is empty if none was given."""

    subject: str
    version: str = ""


def read_subject(text: str) -> SubjectVersion:
    """Read `SUBJECT[:VERSION]`; the name of a subject may contain colons itself.

    Example:
        >>> read_subject("orders-value:2"), read_subject(":.eu:orders-value")
        (SubjectVersion(subject='orders-value', version='2'), \
SubjectVersion(subject=':.eu:orders-value', version=''))
    """
    found = _VERSION.fullmatch(text)
    return SubjectVersion(found[1], found[2]) if found else SubjectVersion(text)


def read_schema(
    path: Path, language: str | None, references: tuple[str, ...], admin: RegistryAdmin
) -> SchemaText:
    """Return the schema in a file; `-` is standard input.

    Args:
        path: the file.
        language: the language that the user names; None to detect it.
        references: texts of the form `NAME=SUBJECT[:VERSION]`.
        admin: finds the last version of references without a version.

    Raises:
        ConfigError: the file is not UTF-8, or too long.
        click.UsageError: the language cannot be detected.
        RegistryError: a reference leads to nothing.
    """
    text = read_text(path)
    found = Language(language) if language else language_of(path, text)
    return SchemaText(found, text, tuple(_reference(one, admin) for one in references))


def language_of(path: Path, text: str) -> Language:
    """Return the language of a schema, by the name of its file or by its content.

    Example:
        >>> language_of(Path("a.json"), '{"type": "object"}').value
        'JSON'

    Raises:
        click.UsageError: neither shows it.
    """
    suffix = path.suffix.lower()
    if suffix in _OF_SUFFIX:
        return _OF_SUFFIX[suffix]
    try:
        value = load(text)
    except ValueError as error:
        if suffix != ".json" and _PROTOBUF.search(text):
            return Language.PROTOBUF
        what = f"is not JSON: {error}" if suffix == ".json" else "has no known form"
        raise click.UsageError(
            f'Cannot detect the language of "{path}": it {what}. Add --type.'
        ) from None
    of = value.get("type") if isinstance(value, dict) else value
    is_avro = isinstance(value, list | str) or (isinstance(of, str) and of in _ONLY_AVRO)
    return Language.AVRO if is_avro else Language.JSON


def read_text(path: Path) -> str:
    """Return the text of a file; `-` is standard input.

    Raises:
        ConfigError: it is not UTF-8, or too long.
    """
    if str(path) == "-":
        data = sys.stdin.buffer.read(BYTES_MAX + 1)
    else:
        with path.open("rb") as stream:
            data = stream.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise ConfigError(
            f'the schema "{path}" is longer than {BYTES_MAX // 2**20} MB',
            hint="Check that the file contains a schema.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f'the schema "{path}" is not UTF-8',
            detail=f"It contains the byte 0x{data[error.start]:02x} at offset {error.start}.",
            hint="Save the file as UTF-8.",
        ) from error


def _reference(text: str, admin: RegistryAdmin) -> Reference:
    name, equals, target = text.rpartition("=")
    subject, version = read_subject(target)
    if not (name and equals and subject):
        raise click.BadParameter(
            f'--reference "{text}" must be NAME=SUBJECT:VERSION, such as Customer=customers-value:1'
        )
    if version in {"", LATEST}:
        return Reference(name, subject, admin.version(subject).version)
    return Reference(name, subject, int(version))

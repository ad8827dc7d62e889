"""Requests about schemas: subjects and versions of query strings, schemas of bodies."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from duolog.registry.names import EVERY_CONTEXT, NAME_LENGTH_MAX
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText
from duolog.server.administration.requests import list_in, read_object, text_in
from duolog.server.errors import RequestRefused

LATEST: Final = "latest"
LEVELS: Final = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
REFERENCES_MAX: Final = 100
_MEMBERS: Final = ("subject", "schema", "schemaType", "references")
_DIGITS_MAX: Final = 9


class Draft(NamedTuple):
    """A schema that a client wants to check or register in a subject."""

    subject: str
    schema: SchemaText


def read_draft(body: bytes, *more: str) -> tuple[Draft, Mapping[str, Any]]:
    """Return the draft of a body, and the whole object; `more` are names of other members.

    Raises:
        RequestRefused: the body is not of this form.
    """
    given = read_object(body, (*_MEMBERS, *more))
    language = str(given.get("schemaType") or Language.AVRO.value).upper()
    if language not in set(Language):
        raise RequestRefused(f"schemaType must be one of {', '.join(Language)}")
    text = text_in(given, "schema")
    if language != Language.PROTOBUF:
        _ensure_json(text)
    references = list_in(given, "references")
    if len(references) > REFERENCES_MAX:
        raise RequestRefused(f"A schema may have at most {REFERENCES_MAX} references here")
    schema = SchemaText(Language(language), text, tuple(map(_reference, references)))
    return Draft(subject_in(given), schema), given


def subject_in(given: Mapping[str, Any]) -> str:
    """Return the subject of an object or a query string; raises as `read_draft`."""
    subject = text_in(given, "subject")
    if len(subject) > NAME_LENGTH_MAX or not subject.isprintable():
        raise RequestRefused("subject is too long, or has characters that cannot be printed")
    if subject.startswith(EVERY_CONTEXT):
        # It stands for many subjects, on which the client may have different rights.
        raise RequestRefused("subject must be one subject, and not that of every context")
    return subject


def version_in(given: Mapping[str, Any], name: str, otherwise: str = "") -> str:
    """Return a version's number, or `latest`, of a query string; raises as `read_draft`."""
    text = given.get(name, otherwise)
    if text in (otherwise, LATEST):
        return str(text)
    usable = isinstance(text, str) and text.isascii() and text.isdecimal()
    if not usable or len(text) > _DIGITS_MAX or int(text) < 1:
        raise RequestRefused(f"{name} must be the number of a version, or {LATEST}")
    return str(int(text))


def level_in(given: Mapping[str, Any]) -> str | None:
    """Return the compatibility level of an object; None if it is to be set back.

    Raises:
        RequestRefused: it is not a level.
    """
    level = given.get("level")
    if level is not None and level not in LEVELS:
        raise RequestRefused(f"level must be one of {', '.join(LEVELS)}, or null")
    return level


def _ensure_json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise RequestRefused(f"The schema is not JSON: {error}") from error
    except RecursionError as error:
        raise RequestRefused("The schema is nested too deeply") from error


def _reference(given: object) -> Reference:
    if not isinstance(given, dict) or given.keys() != {"name", "subject", "version"}:
        raise RequestRefused("references must be objects with name, subject and version")
    version = given["version"]
    if not isinstance(version, int) or isinstance(version, bool):
        raise RequestRefused("The version of a reference must be a number")
    return Reference(text_in(given, "name"), text_in(given, "subject"), version)

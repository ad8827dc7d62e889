"""The schema of a class, in one of three languages."""

from functools import cache
from importlib import import_module
from typing import Final, Literal

from duolog.core.errors import StatementError
from duolog.schemas.classes.reading import shape_of
from duolog.schemas.classes.shapes import RecordOf
from duolog.schemas.schema import Language

Format = Literal["avro", "json", "protobuf"]
_LANGUAGES: Final = {
    "avro": Language.AVRO,
    "json": Language.JSON,
    "json_sr": Language.JSON,
    "protobuf": Language.PROTOBUF,
}
_MODULES: Final = {
    Language.AVRO: "duolog.schemas.classes.avro",
    Language.JSON: "duolog.schemas.classes.json",
    Language.PROTOBUF: "duolog.schemas.classes.protobuf",
}
"""The modules that write schemas, loaded on first use: each loads the parser of its language."""


def schema_of(of: type, format: Format = "avro") -> str:  # noqa: A002 - as users call it
    """Return the schema of a class as text.

    Args:
        of: a dataclass, a TypedDict, a NamedTuple, or a pydantic model of version 2. A field with a
            default has a default in the schema. `Meta` adds what a Python type does not have.
        format: the language: `avro`, `json` (JSON Schema) or `protobuf`.

    Raises:
        RegistryError: the language cannot express a field; the error has its path.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Visit:
        ...     user: str
        ...     pages: int = 1
        >>> print(schema_of(Visit, format="protobuf"))
        syntax = "proto3";
        <BLANKLINE>
        message Visit {
          string user = 1;
          optional int64 pages = 2;
        }
        <BLANKLINE>
    """
    return text_of(of, language_of(format))


@cache
def text_of(of: type, language: Language) -> str:
    """Return the schema of a class in a language.

    Raises:
        InvalidSchemaError: the language cannot express a field.
    """
    return written(shape_of(of), language)


def written(shape: RecordOf, language: Language) -> str:
    """Return the schema of a shape in a language; raises as `text_of`."""
    text: str = import_module(_MODULES[language]).schema_text(shape)
    return text


def language_of(form: str) -> Language:
    """Return the language of a format, named as in `schema_of` or in SQL.

    Raises:
        StatementError: there is no such format.
    """
    if form.lower() not in _LANGUAGES:
        raise StatementError(
            f'schemas cannot be written in the format "{form}"',
            hint="Use avro, json or protobuf.",
        )
    return _LANGUAGES[form.lower()]

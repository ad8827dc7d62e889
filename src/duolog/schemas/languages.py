"""Parse a schema in its language; the package of a language is loaded on first use."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, cast

from duolog.schemas.schema import Language, Parse, Schema

_PACKAGE_OF: Final = {
    Language.AVRO: "duolog.schemas.avro",
    Language.JSON: "duolog.schemas.json_schema",
    Language.PROTOBUF: "duolog.schemas.protobuf",
}


def parse(
    language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
) -> Schema:
    """Parse a schema; see `Parse` for the arguments.

    Raises:
        InvalidSchemaError: the text is not a schema of the language.
    """
    return _parser(language)(text, references, strict=strict)


@cache
def _parser(language: Language) -> Parse:
    return cast("Parse", import_module(_PACKAGE_OF[language]).parse)

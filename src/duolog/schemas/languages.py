"""The languages of schemas by name. A language's package is imported when it is used."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from duolog.schemas.schema import Language, Parse, Schema

if TYPE_CHECKING:  # mypy then checks that each of them is a `Parse`.
    from duolog.schemas import json_schema

    _PARSERS: Final[tuple[Parse, ...]] = (json_schema.parse,)

_PACKAGES: Final = {
    Language.AVRO: "avro",
    Language.JSON: "json_schema",
    Language.PROTOBUF: "protobuf",
}


def parse(
    language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
) -> Schema:
    """Parse a schema of any language, see `Parse`.

    Raises:
        InvalidSchemaError: the text is not a schema of the language, exceeds a limit, or refers to
            what is not there.
    """
    package = import_module(f"duolog.schemas.{_PACKAGES[language]}")
    parse_text: Parse = package.parse
    return parse_text(text, references, strict=strict)

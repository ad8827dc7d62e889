"""Read the fields of a registry's answers."""

from collections.abc import Mapping

from duolog.core.errors import RegistryError
from duolog.registry.json_text import Json
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText


def text_of(fields: Mapping[str, Json]) -> SchemaText:
    """Return the schema in an answer.

    Raises:
        RegistryError: the answer has another form.
    """
    language, text = fields.get("schemaType") or "AVRO", fields.get("schema")
    listed = fields.get("references") or []
    if not isinstance(text, str) or language not in set(Language) or not isinstance(listed, list):
        raise unexpected(dict(fields))
    references = tuple(
        Reference(word_of(one, "name"), word_of(one, "subject"), number_of(one, "version"))
        for one in map(fields_of, listed)
    )
    return SchemaText(Language(str(language)), text, references)


def fields_of(value: Json) -> Mapping[str, Json]:
    """Return an answer that is an object; see `text_of` for the error."""
    if not isinstance(value, dict):
        raise unexpected(value)
    return value


def number_of(fields: Mapping[str, Json], name: str) -> int:
    """Return the number of a field; see `text_of` for the error."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise unexpected(dict(fields))
    return value


def word_of(fields: Mapping[str, Json], name: str) -> str:
    """Return the text of a field; see `text_of` for the error."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise unexpected(dict(fields))
    return value


def unexpected(answer: Json) -> RegistryError:
    """Return the error for an answer of another form."""
    return RegistryError(
        "the schema registry gives an answer of another form than expected",
        detail=f"It starts with {str(answer)[:100]}.",
        hint="Check that the address is that of a schema registry.",
    )

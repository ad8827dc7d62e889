"""Show schemas: text for people, and the objects of `-o json`."""

import json

from duolog.registry.client.admin import Registered
from duolog.registry.json_text import Json
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText


def pretty(schema: SchemaText) -> str:
    """Return the text of a schema with line breaks; Protobuf has its own.

    Example:
        >>> print(pretty(SchemaText(Language.AVRO, '{"type":"array","items":"int"}')))
        {
          "type": "array",
          "items": "int"
        }
    """
    if schema.language == Language.PROTOBUF:
        return schema.text.rstrip("\n")
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text.rstrip("\n")


def version_object(version: Registered, compatibility: str | None = None) -> dict[str, Json]:
    """Return the object of a version, with the schema as the registry stores it."""
    found: dict[str, Json] = {
        "subject": version.subject,
        "version": version.version,
        "id": version.schema_id,
        "guid": version.guid or None,
        "deleted": version.deleted,
        "compatibility": compatibility,
        **schema_object(version.schema),
    }
    return {**found, **{name: value for name, value in version.more.items() if value is not None}}


def schema_object(schema: SchemaText) -> dict[str, Json]:
    """Return the object of a schema."""
    return {
        "type": schema.language.value,
        "schema": schema.text,
        "references": [reference_object(one) for one in schema.references],
    }


def reference_object(reference: Reference) -> dict[str, Json]:
    """Return the object of a reference."""
    return {
        "name": reference.name,
        "subject": reference.subject,
        "version": reference.version,
    }

"""Convert schemas of any language to columns, and columns to the schemas that ksqlDB registers.

The package of a language is loaded on first use.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from duolog.core.types import Column, Struct, Type
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaText

if TYPE_CHECKING:
    from duolog.schemas.avro import AvroSchema
    from duolog.schemas.json_schema import JsonSchema
    from duolog.schemas.protobuf import ProtobufSchema
    from duolog.schemas.protobuf.columns import Nullable


def type_of(schema: Schema, *, upper: bool = True, name: str | None = None) -> Type:
    """Return the type of the column or, for a record, of the columns that a schema describes.

    Args:
        schema: the schema.
        upper: True to write the names of fields in upper case.
        name: the full name of the message, if the schema is Protobuf; None for the first one.

    Raises:
        InvalidSchemaError: a type has no counterpart, or contains itself.
    """
    if schema.language == Language.PROTOBUF:
        from duolog.schemas.protobuf import columns as protobuf  # noqa: PLC0415

        return protobuf.type_of(cast("ProtobufSchema", schema), name, upper=upper)
    if schema.language == Language.JSON:
        from duolog.schemas.json_schema import columns as json  # noqa: PLC0415

        return json.type_of(cast("JsonSchema", schema).documents, upper=upper)
    from duolog.schemas.avro import columns as avro  # noqa: PLC0415

    return avro.type_of(cast("AvroSchema", schema).root, upper=upper)


def text_of(
    language: Language,
    columns: Sequence[Column],
    *,
    name: str | None,
    bare: bool,
    nullable: "Nullable | None" = None,
) -> SchemaText:
    """Return the schema of a value with these columns.

    Args:
        language: the language of the schema.
        columns: the columns.
        name: the full name of the record; None for that of ksqlDB. JSON Schema has no names.
        bare: True if the value is the single column, without a record around it.
        nullable: how Protobuf represents null.

    Raises:
        InvalidSchemaError: the language has no such type.
    """
    if language == Language.PROTOBUF:
        from duolog.schemas.protobuf import columns as protobuf  # noqa: PLC0415

        return SchemaText(language, protobuf.schema_text(columns, name, nullable))
    if language == Language.JSON:
        from duolog.schemas.json_schema import columns as json  # noqa: PLC0415

        single = json.single_schema(columns[0].type) if bare else json.value_schema(columns)
        return SchemaText(language, json.schema_text(single))
    from duolog.schemas.avro import columns as avro  # noqa: PLC0415

    full_name = name or avro.VALUE_NAME
    if bare:
        schema = avro.single_schema(columns[0].type, full_name)
    else:
        schema = avro.value_schema(columns, full_name)
    return SchemaText(language, avro.schema_text(schema))


def fields_of(of: Type) -> tuple[Column, ...] | None:
    """Return the columns of a record; None for a type that is a single column."""
    return of.fields if isinstance(of, Struct) else None

"""Formats of keys and values in a topic, as names with options.

`serde` and the engine read and write the bytes. The plan only knows which columns a format
supports.

    JSON       any columns, as an object; a single key column is a bare JSON value
    KAFKA      exactly one primitive column, in the format of Kafka's own serializers
    DELIMITED  columns of plain types, between delimiters
    NONE       no column: the key is null and is not read
    AVRO       any columns, as a record, or a single column; a schema registry has the schemas
    JSON_SR    the same, as JSON with the id of a JSON Schema
    PROTOBUF   columns as a message; a schema registry has the schemas
    PROTOBUF_NOSR  the same, with the schema that the columns make and no registry

Options, each with a default:

    dialect    of JSON: "ksqldb" reads and writes as ksqlDB does (`KSQLDB`)
    single     of values in JSON, AVRO, JSON_SR: "bare" writes a single column without an object
               or record around it
    delimiter  of DELIMITED: the character between columns, by default a comma
    registry   the address of the registry, of formats that have one
    id         the id of the schema to write with; none if the format is only read
    schema     the text of that schema, with what it refers to
    message    of PROTOBUF: the full name of the message to write, by default the first one
    nullable   of PROTOBUF_NOSR: "optional" or "wrapper", the representation of null
"""

from dataclasses import dataclass
from typing import Final

from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    STRING,
    Array,
    Column,
    Map,
    Struct,
    parts_of,
    render_columns,
)
from duolog.schemas.schema import Language

KAFKA_TYPES: Final = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES)
"""The types that one of Kafka's serializers writes with a fixed meaning."""

OF_SCHEMAS: Final = ("AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR")
"""Formats whose bytes have a schema."""
LANGUAGES: Final = {
    "AVRO": Language.AVRO,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}
"""The languages of formats whose schemas are in a registry."""
NAMES: Final = ("JSON", "KAFKA", "DELIMITED", "NONE", *OF_SCHEMAS)

DIALECT: Final = "dialect"
SINGLE: Final = "single"
DELIMITER: Final = "delimiter"
REGISTRY: Final = "registry"
SCHEMA_ID: Final = "id"
SCHEMA: Final = "schema"
MESSAGE: Final = "message"
NULLABLE: Final = "nullable"
KSQLDB: Final = "ksqldb"
"""The JSON dialect of ksqlDB.

Field names are case-insensitive. Numbers may be texts, times and dates are numbers. A key whose
columns are all null is a key.
"""
BARE: Final = "bare"
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "JSON": (DIALECT, SINGLE),
    "DELIMITED": (DELIMITER,),
    "AVRO": (SCHEMA_ID, REGISTRY, SCHEMA, SINGLE),
    "JSON_SR": (SCHEMA_ID, REGISTRY, SCHEMA, SINGLE),
    "PROTOBUF": (SCHEMA_ID, MESSAGE, REGISTRY, SCHEMA),
    "PROTOBUF_NOSR": (NULLABLE,),
}


@dataclass(frozen=True, slots=True)
class Format:
    """A format by name, with options as sorted pairs."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise unknown_name("format", self.name, NAMES)
        for name, _ in self.options:
            if name not in _OPTIONS.get(self.name, ()):
                raise unknown_name(
                    f"option of format {self.name}", name, _OPTIONS.get(self.name, ())
                )
        if len(self.option(DELIMITER) or ",") != 1:
            raise InvalidPlan(
                f'the delimiter "{self.option(DELIMITER)}" is not one character',
                hint="Use one character.",
            )

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.name}({options})" if options else self.name

    def option(self, name: str) -> str | None:
        """Return the value of an option; None for its default."""
        return dict(self.options).get(name)

    @property
    def is_ksqldb(self) -> bool:
        return self.name in {"DELIMITED", *OF_SCHEMAS} or self.option(DIALECT) == KSQLDB

    def check(self, columns: tuple[Column, ...], what: str) -> None:
        """Check that this format supports `columns`; errors call their owner `what`.

        Raises:
            StatementError: it does not.
        """
        if self.name == "NONE" and columns:
            raise InvalidPlan(
                f"format NONE of the {what} carries no columns", detail=_given(columns)
            )
        if self.name == "KAFKA" and not (len(columns) == 1 and columns[0].type in KAFKA_TYPES):
            raise InvalidPlan(
                f"format KAFKA cannot carry the {what}",
                detail=f"KAFKA carries one column of a plain type. {_given(columns)}",
                hint='Use the format "JSON".' if columns else 'Use the format "NONE".',
            )
        if self.name == "DELIMITED":
            _ensure_plain(columns, what)
        if self.name == "JSON" and not columns and not self.is_ksqldb:
            raise InvalidPlan(f"the {what} has no columns", hint="Declare at least one.")
        if self.name == "JSON":
            for column in columns:
                _ensure_keys_are_texts(column, what)


JSON: Final = Format("JSON")
KAFKA: Final = Format("KAFKA")
NONE: Final = Format("NONE")


def internal_key_format(columns: tuple[Column, ...]) -> Format:
    """Return the format of keys inside a topology, whose bytes the partitioner reads."""
    if not columns:
        return NONE
    return KAFKA if len(columns) == 1 and columns[0].type in KAFKA_TYPES else JSON


def _ensure_keys_are_texts(column: Column, what: str) -> None:
    for of in parts_of(column.type):
        if isinstance(of, Map) and of.key != STRING:
            raise InvalidPlan(
                f"format JSON cannot carry the {what}",
                detail=f'The names in an object are texts, but column "{column.name}" has a {of}.',
                hint=f"Declare MAP<STRING, {of.value}>.",
            )


def _ensure_plain(columns: tuple[Column, ...], what: str) -> None:
    if not columns:
        raise InvalidPlan(f"the {what} has no columns", hint="Declare at least one.")
    for column in columns:
        if isinstance(column.type, Array | Map | Struct):
            raise InvalidPlan(
                f"format DELIMITED cannot carry the {what}",
                detail=f'DELIMITED writes each column as one text, but column "{column.name}" has '
                f"a {column.type}.",
                hint='Use the format "JSON".',
            )


def _given(columns: tuple[Column, ...]) -> str:
    return f"Its columns are ({render_columns(columns)})."

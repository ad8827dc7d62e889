"""Convert the formats of sources and sinks to formats of the plan.

VALUE_DIALECT = 'DUOLOG' is an extension: the JSON of topologies, for reading and writing their
topics.

The schemas of AVRO, JSON_SR and PROTOBUF are in a schema registry; see `schemas.py`.
"""

from collections.abc import Sequence
from typing import Final

from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.errors import SqlError
from duolog.plan.formats import (
    BARE,
    DELIMITER,
    DIALECT,
    KSQLDB,
    MESSAGE,
    NULLABLE,
    REGISTRY,
    SCHEMA,
    SCHEMA_ID,
    SINGLE,
    Format,
)
from duolog.plan.types import STRING, Map, parts_of

OF_A_REGISTRY: Final = ("AVRO", "PROTOBUF", "JSON_SR")
DUOLOG: Final = "duolog"
"""JSON dialect of topologies: times and dates are strings, names keep their case."""
_DELIMITER_PROPERTY: Final = "delimiter"
_NULLABLE: Final = "nullableRepresentation"


def registry_missing(of: SqlFormat) -> SqlError:
    """Return the error of a format that needs a schema registry."""
    return SqlError(
        f"the {of.name} format needs a schema registry, and none is set",
        hint="Name it with SET 'ksql.schema.registry.url' = 'http://HOST:PORT';, or use a format "
        "without a registry: JSON, DELIMITED or KAFKA.",
    )


def plan_format(of: SqlFormat) -> Format:
    """Return the plan's format for a key or value format.

    Raises:
        SqlError: the format needs a schema registry.

    Example:
        >>> print(plan_format(SqlFormat("JSON", wrap=False)))
        JSON(dialect=ksqldb, single=bare)
    """
    if of.name in OF_A_REGISTRY:
        return _of_schemas(of)
    match of.name:
        case "JSON":
            single = ((SINGLE, BARE),) if of.wrap is False else ()
            own = dict(of.properties).get(DIALECT) == DUOLOG
            return Format("JSON", (*(() if own else ((DIALECT, KSQLDB),)), *single))
        case "DELIMITED":
            given = dict(of.properties).get(_DELIMITER_PROPERTY)
            return Format("DELIMITED", ((DELIMITER, given),) if given else ())
        case "PROTOBUF_NOSR":
            null = dict(of.properties).get(_NULLABLE)
            return Format(of.name, ((NULLABLE, null.lower()),) if null else ())
        case _:
            return Format(of.name)


def _of_schemas(of: SqlFormat) -> Format:
    if of.registered is None:
        raise registry_missing(of)
    found = of.registered
    options = [(REGISTRY, found.address)]
    if found.schema_id is not None:
        options += [(SCHEMA_ID, str(found.schema_id)), (SCHEMA, found.text)]
    if of.wrap is False:
        options.append((SINGLE, BARE))
    if of.name == "PROTOBUF" and (name := dict(of.properties).get("fullSchemaName")):
        options.append((MESSAGE, name))
    return Format(of.name, tuple(sorted(options)))


def assumed_format(of: SqlFormat, columns: Sequence[SqlColumn]) -> Format:
    """Return a format to check a query with: JSON in place of a format without a registry.

    Errors in the query are then reported before the missing registry, which `ensure_readable`
    reports.

    Raises:
        SqlError: JSON cannot replace the format.
    """
    if of.registered is not None:
        return plan_format(of)
    maps = [part for column in columns for part in parts_of(column.type) if isinstance(part, Map)]
    if of.name in OF_A_REGISTRY and all(part.key == STRING for part in maps):
        return Format("JSON", ((DIALECT, KSQLDB),))
    return plan_format(of)


def ensure_readable(source: SourceInfo) -> None:
    """Raise a SqlError if a format of the source needs a schema registry, and none is set."""
    for of in (source.key_format, source.value_format):
        plan_format(of)

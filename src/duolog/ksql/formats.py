"""The formats of sources and sinks as a plan has them: ksqlDB's JSON, and what its properties say.

AVRO, PROTOBUF, PROTOBUF_NOSR and JSON_SR are answered with an error: their schemas live in a registry, and none is
configured. A registry's format becomes one of the plan's here, and one of `serde` and the engine there.
"""

from typing import Final

from duolog.ksql.catalog import SqlFormat
from duolog.ksql.errors import SqlError
from duolog.plan.formats import BARE, DELIMITER, DIALECT, KSQLDB, SINGLE, Format

OF_A_REGISTRY: Final = ("AVRO", "PROTOBUF", "PROTOBUF_NOSR", "JSON_SR")
_DELIMITER_PROPERTY: Final = "delimiter"


def registry_missing(of: SqlFormat) -> SqlError:
    """Return the error of a format whose schemas live in a registry, where none is configured."""
    return SqlError(
        f"KSQL is not configured to use a schema registry. To use the {of.name} format, "
        "please set ksql.schema.registry.url",
        hint="JSON, DELIMITED and KAFKA need none.",
    )


def plan_format(of: SqlFormat) -> Format:
    """Return the plan's format of keys or values.

    Raises:
        SqlError: it needs a schema registry.

    Example:
        >>> print(plan_format(SqlFormat("JSON", wrap=False)))
        JSON(dialect=ksqldb, single=bare)
    """
    if of.name in OF_A_REGISTRY:
        raise registry_missing(of)
    match of.name:
        case "JSON":
            single = ((SINGLE, BARE),) if of.wrap is False else ()
            return Format("JSON", ((DIALECT, KSQLDB), *single))
        case "DELIMITED":
            given = dict(of.properties).get(_DELIMITER_PROPERTY)
            return Format("DELIMITED", ((DELIMITER, given),) if given else ())
        case _:
            return Format(of.name)

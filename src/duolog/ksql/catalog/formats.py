"""The formats of sources and sinks as a plan has them: ksqlDB's JSON, and what its properties say.

VALUE_DIALECT = 'DUOLOG' is of us: the JSON of topologies, for their topics.

AVRO, PROTOBUF, PROTOBUF_NOSR and JSON_SR are answered with an error: their schemas live in a registry, and there is
none yet. A registry's format becomes one of the plan's here, and one of `serde` and the engine there.
"""

from collections.abc import Sequence
from typing import Final

from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat
from duolog.ksql.errors import SqlError
from duolog.plan.formats import BARE, DELIMITER, DIALECT, KSQLDB, SINGLE, Format
from duolog.plan.types import STRING, Map, parts_of

OF_A_REGISTRY: Final = ("AVRO", "PROTOBUF", "PROTOBUF_NOSR", "JSON_SR")
DUOLOG: Final = "duolog"
"""The dialect of JSON in which a topology writes: times and days are texts, names as they are."""
_DELIMITER_PROPERTY: Final = "delimiter"


def registry_missing(of: SqlFormat) -> SqlError:
    """Return the error of a format whose schemas live in a registry."""
    return SqlError(
        f"the {of.name} format needs a schema registry, which Duolog does not have yet",
        hint="Use a format without a registry: JSON, DELIMITED or KAFKA.",
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
            own = dict(of.properties).get(DIALECT) == DUOLOG
            return Format("JSON", (*(() if own else ((DIALECT, KSQLDB),)), *single))
        case "DELIMITED":
            given = dict(of.properties).get(_DELIMITER_PROPERTY)
            return Format("DELIMITED", ((DELIMITER, given),) if given else ())
        case _:
            return Format(of.name)


def assumed_format(of: SqlFormat, columns: Sequence[SqlColumn]) -> Format:
    """Return the format with which a query is checked: ksqlDB's JSON for one of a registry, as far as it can carry that.

    So what is wrong with a query is told before what is missing to run it, which `ensure_readable` tells.

    Raises:
        SqlError: it needs a schema registry, and JSON cannot stand for it.
    """
    maps = [part for column in columns for part in parts_of(column.type) if isinstance(part, Map)]
    if of.name in OF_A_REGISTRY and all(part.key == STRING for part in maps):
        return Format("JSON", ((DIALECT, KSQLDB),))
    return plan_format(of)


def ensure_readable(source: SourceInfo) -> None:
    """Raise a SqlError where the formats of a source need a schema registry."""
    for of in (source.key_format, source.value_format):
        plan_format(of)

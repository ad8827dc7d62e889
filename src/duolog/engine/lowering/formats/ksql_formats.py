"""ksqlDB's JSON and DELIMITED as Spark SQL; the kernel codes them (`KsqlJson`, `Delimited`).

A single key column is a bare value; so is a single value column if the format says so.
"""

from collections.abc import Sequence

from duolog.engine.lowering.formats.decoded import Decoded, Part
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.plan.formats import BARE, DELIMITER, SINGLE, Format
from duolog.plan.types import Column

_COMMA = ","


def decode(of: Format, columns: tuple[Column, ...], part: Part, source: str, first: int) -> Decoded:
    """Return how to convert the bytes `source` to `columns`; the parsed row is p{first}."""
    if of.name == "DELIMITED":
        read = f"duolog_delimited_read({source}, {_schema(columns)}, {_delimiter(of)})"
        return _parsed(columns, read, f"{source} IS NULL", first)
    is_null = f"({source} IS NULL OR duolog_json_is_null({source}))"
    if not columns:
        return Decoded([], is_null=is_null)
    alone = "_alone" if _stands_alone(of, columns, part) else ""
    given = f"({source}, {_schema(columns)})"
    why = f"duolog_ksql_json_problem{alone}{given}"
    return _parsed(columns, f"duolog_ksql_json_read{alone}{given}", is_null, first, why)


def encode(of: Format, columns: tuple[Column, ...], names: Sequence[str], part: Part) -> str:
    """Return the expression of the bytes of `columns`, which are in the row under `names`."""
    if not columns:
        return f"CAST({text('{}')} AS BINARY)"
    row = f"struct({', '.join(names)})"
    if of.name == "DELIMITED":
        written = f"duolog_delimited_write({row}, {_schema(columns)}, {_delimiter(of)})"
        # A value of nulls is written as a line; a key of one null is a null key.
        if part == "key" and len(columns) == 1:
            return f"CASE WHEN {names[0]} IS NOT NULL THEN {written} END"
        return written
    name = "duolog_ksql_json_write" + ("_alone" if _stands_alone(of, columns, part) else "")
    return f"{name}({row}, {_schema(columns)})"


def _parsed(
    columns: tuple[Column, ...], read: str, is_null: str, first: int, why: str = ""
) -> Decoded:
    row = f"p{first}"
    return Decoded(
        [f"{row}.{quoted(column.name)}" for column in columns],
        is_null=is_null,
        corrupt=f"(NOT {is_null} AND {row} IS NULL)",
        parsed=[read],
        why=why,
    )


def _stands_alone(of: Format, columns: tuple[Column, ...], part: Part) -> bool:
    return len(columns) == 1 and (part == "key" or of.option(SINGLE) == BARE)


def _schema(columns: tuple[Column, ...]) -> str:
    return text(", ".join(f"{quoted(name)} {spark_type(kind)}" for name, kind in columns))


def _delimiter(of: Format) -> str:
    return text(of.option(DELIMITER) or _COMMA)

"""Reserved words, units and type names."""

from typing import Final

from sqlglot import exp

from duolog.ksql.syntax.reserved import RESERVED

__all__ = ["CALENDAR_UNITS", "RESERVED", "ROWTOPIC", "TYPES", "UNITS"]

ROWTOPIC: Final = "ROWTOPIC"
"""Pseudo-column with the topic of a record; an extension to ksqlDB's pseudo-columns."""

UNITS: Final = {
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
    "MILLISECOND": 1,
}
"""Units of durations, in milliseconds; a plural S is optional."""

CALENDAR_UNITS: Final = frozenset({"WEEK", "MONTH", "QUARTER", "YEAR"})

TYPES: Final = {
    "BOOLEAN": exp.DType.BOOLEAN,
    "INT": exp.DType.INT,
    "INTEGER": exp.DType.INT,
    "BIGINT": exp.DType.BIGINT,
    "DOUBLE": exp.DType.DOUBLE,
    "STRING": exp.DType.TEXT,
    "VARCHAR": exp.DType.TEXT,
    "BYTES": exp.DType.BLOB,
    "DATE": exp.DType.DATE,
    "TIME": exp.DType.TIME,
    "TIMESTAMP": exp.DType.TIMESTAMP,
}
"""Types without parameters."""

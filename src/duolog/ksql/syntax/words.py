"""Reserved words, units and type names."""

from typing import Final

from sqlglot import exp

ROWTOPIC: Final = "ROWTOPIC"
"""Pseudo-column with the topic of a record; an extension to ksqlDB's pseudo-columns."""
RESERVED: Final = frozenset(
    [
        "AND",
        "AS",
        "BETWEEN",
        "BY",
        "CASE",
        "CAST",
        "CREATE",
        "CROSS",
        "DELETE",
        "DISTINCT",
        "DROP",
        "ELSE",
        "EMIT",
        "END",
        "EXISTS",
        "FALSE",
        "FROM",
        "FULL",
        "GROUP",
        "HAVING",
        "IN",
        "INNER",
        "INSERT",
        "INTO",
        "IS",
        "JOIN",
        "LEFT",
        "LIKE",
        "LIMIT",
        "NOT",
        "NULL",
        "ON",
        "OR",
        "OUTER",
        "PARTITION",
        "RIGHT",
        "SELECT",
        "THEN",
        "TRUE",
        "USING",
        "VALUES",
        "WHEN",
        "WHERE",
        "WINDOW",
        "WITH",
        "WITHIN",
    ]
)
"""Words that are names only in quotes."""

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

"""The words of the language: which are reserved, and how types are written."""

from typing import Final

from sqlglot import exp

ROWTOPIC: Final = "ROWTOPIC"
"""What a record's topic is called, beyond ksqlDB's own pseudo-columns."""
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
"""Words that name nothing unless they are quoted."""

UNITS: Final = {
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
    "MILLISECOND": 1,
}
"""Units of durations, in milliseconds; each may have an S behind it."""

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
"""The types without parameters."""

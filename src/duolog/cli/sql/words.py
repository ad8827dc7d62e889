"""Words that a statement may have, for completion and hints: no more than what people type.

The parser knows the language; loading it takes longer than a first prompt may.
"""

from typing import Final

STATEMENTS: Final = (
    "ALTER STREAM", "ALTER TABLE", "ASSERT SCHEMA", "ASSERT TOPIC", "CREATE OR REPLACE STREAM", "CREATE OR REPLACE TABLE",
    "CREATE SOURCE STREAM", "CREATE SOURCE TABLE", "CREATE STREAM", "CREATE TABLE", "CREATE TYPE", "DEFINE", "DESCRIBE",
    "DESCRIBE FUNCTION", "DROP STREAM", "DROP TABLE", "DROP TYPE", "EXPLAIN", "INSERT INTO", "LIST", "PAUSE", "PRINT",
    "RESUME", "RUN SCRIPT", "SELECT", "SET", "SHOW", "TERMINATE", "UNDEFINE", "UNSET",
)  # fmt: skip
"""How statements begin."""

SHOWN: Final = (
    "ALL TOPICS", "FUNCTIONS", "PROPERTIES", "QUERIES", "STREAMS", "TABLES", "TOPICS", "TYPES", "VARIABLES",
)  # fmt: skip
"""What SHOW and LIST show."""

CLAUSES: Final = (
    "ADVANCE BY", "AND", "AS", "ARRAY", "BETWEEN", "BIGINT", "BOOLEAN", "BYTES", "CASE", "CAST", "CHANGES", "DATE", "DAYS",
    "DECIMAL", "DELETE TOPIC", "DOUBLE", "ELSE", "EMIT CHANGES", "EMIT FINAL", "END", "EXTENDED", "FALSE", "FINAL", "FROM",
    "FROM BEGINNING", "FULL OUTER JOIN", "GRACE PERIOD", "GROUP BY", "HAVING", "HEADERS", "HOPPING", "HOURS", "IF EXISTS",
    "IF NOT EXISTS", "IN", "INNER JOIN", "INT", "INTO", "IS NOT NULL", "IS NULL", "JOIN", "KEY", "LEFT JOIN", "LIKE",
    "LIMIT", "MAP", "MILLISECONDS", "MINUTES", "MONTH", "NOT", "NULL", "OFFSET", "ON", "OR", "PARTITION BY", "PRIMARY KEY", "RETENTION",
    "RIGHT JOIN", "SECONDS", "SESSION", "SIZE", "STREAM", "STRING", "STRUCT", "TABLE", "THEN", "TIME", "TIMESTAMP", "TRUE",
    "TIMEZONE", "TUMBLING", "VALUES", "WEEK", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN", "YEAR",
)  # fmt: skip

PROPERTIES: Final = (
    "CLEANUP_POLICY", "FORMAT", "KAFKA_TOPIC", "KEY_FORMAT", "PARTITIONS", "REPLICAS", "RETENTION_MS", "TIMESTAMP",
    "TIMESTAMP_FORMAT", "TTL", "VALUE_DELIMITER", "VALUE_FORMAT", "WINDOW_SIZE", "WINDOW_TIMEZONE", "WINDOW_TYPE",
    "WRAP_SINGLE_VALUE",
)  # fmt: skip
"""What stands in WITH (…)."""

KEYWORDS: Final = frozenset(
    word for words in (*STATEMENTS, *SHOWN, *CLAUSES) for word in words.split()
)

BESIDE: Final = ("ROWTIME", "ROWPARTITION", "ROWOFFSET")
"""Pseudo columns of every source."""

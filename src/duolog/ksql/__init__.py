"""SQL: ksqlDB's language, read by a sqlglot dialect of our own and bound to the logical plan."""

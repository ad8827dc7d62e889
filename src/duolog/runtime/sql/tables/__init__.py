"""Current rows of tables, read from their topics into DuckDB for pull queries."""

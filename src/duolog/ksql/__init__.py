"""Parse ksqlDB's SQL with a sqlglot dialect and turn it into logical plans. Start in `session`."""

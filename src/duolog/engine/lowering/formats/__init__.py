"""Formats as Spark SQL: decode the bytes of a topic to columns, and encode columns to bytes."""

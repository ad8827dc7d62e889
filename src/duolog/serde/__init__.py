"""Serdes: rows of columns to the bytes of a record's key or value, and back.

Imports `core` only. The engine reads and writes the same bytes in Spark; these are for clients in
Python, for tests and for the reference evaluator. Start with `serde`.
"""

"""Serdes: convert rows of columns to the bytes of a record's key or value, and back.

Imports only `core`. The engine reads and writes the same bytes in Spark; these serdes are used by
Python clients, tests and the reference evaluator. Start with `serde`.
"""

"""Rows: values by columns."""

Row = tuple[object, ...]
"""Values in the order of the columns. `duolog.core.types` says which Python values a type has."""

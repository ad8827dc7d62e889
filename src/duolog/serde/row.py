"""Rows: values by column."""

Row = tuple[object, ...]
"""Values in the order of the columns. `duolog.core.types` lists the Python values of each type."""

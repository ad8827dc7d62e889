"""Expressions and aggregate steps as Spark SQL, and the Python functions that they call."""

"""SQL's functions as Spark SQL: a file for each family of `plan.sql`, a row for each function.

Start with `registry.py`, which has them all; `lowering.py` defines a row.
"""

"""Functions of SQL that DuckDB has not, or has otherwise, in Python: the same results as the engine's, which are Java's.

Start with `registry.py`, which has them by the names that queries call them by. A function is given no nulls unless it says so;
what it raises is null, but for `Unsupported`.
"""

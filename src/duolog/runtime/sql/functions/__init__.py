"""SQL functions in Python that DuckDB lacks or implements differently.

The results equal those of the engine, which are Java's. Start with `registry.py`, which has the
functions by name. By default a function receives no nulls. Exceptions give null, except
`Unsupported`.
"""

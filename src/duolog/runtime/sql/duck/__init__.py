"""Lower SQL queries and expressions to DuckDB, for pull queries and stateless push queries.

Start with `queries`, which translates a SELECT and its sources; `expressions` lowers bound
expressions.
"""

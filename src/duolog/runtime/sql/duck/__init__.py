"""SQL's queries and expressions as DuckDB has them: what answers rows of what is there now.

Start with `queries`: a SELECT and what it reads become a text of DuckDB; `expressions` lowers what the binder has typed.
"""

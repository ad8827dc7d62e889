"""Run statements: a function per kind changes the catalog or returns a result.

Start with `dispatch`.
"""

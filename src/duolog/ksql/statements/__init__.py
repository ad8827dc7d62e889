"""Statements: one function for each kind, from a syntax tree to a change of the catalog or a result."""

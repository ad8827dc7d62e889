"""Rows in memory, packed into bytes: those of tables of SQL, and of the stores of applications."""

"""Queries that clients read: their headers, rows and values in the forms that clients ask for."""

"""Tokenize, parse and format SQL. Start with `parser`. Nothing here uses the catalog."""

"""Arguments of the DSL's methods: columns, functions, schemas, windows and start positions.

Start with `columns`.
"""

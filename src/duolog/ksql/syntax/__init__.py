"""SQL text: tokens, grammar, syntax tree, and statements written back as text.

Start reading in `parser`. Nothing here knows the catalog.
"""

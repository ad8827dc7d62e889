"""One file for each API key that the broker serves; the router finds `API` in each.

A file's docstring says what each version adds and where the behaviour comes from. ApiVersions
is written from these files, so what is not here is not advertised.
"""

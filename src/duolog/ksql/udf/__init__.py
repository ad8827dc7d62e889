"""User-defined functions in Python: `@udf`, `@udaf` and `@udtf`, their types and modules.

Imports only `plan` and `core`. Start with `decorators`.
"""

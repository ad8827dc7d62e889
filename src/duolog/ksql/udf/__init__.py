"""Functions of a user's, in Python: `@udf`, `@udaf` and `@udtf`, their types, and the modules that have them.

It may import `plan` and `core`. Start with `decorators`.
"""

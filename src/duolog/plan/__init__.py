"""The logical plan: the meaning of a topology, independent of Spark and of SQL text.

Imports only `core` and does no I/O. Both front ends build it, the engine lowers it, and
`duolog.testing.reference` evaluates it in plain Python.

Start with `nodes`, then `cutting.levels`, which cuts a plan into the parts that run together.
"""

"""The logical plan: what a topology means, with nothing of Spark and nothing of SQL text.

Imports only `core`; does no I/O. Both front ends build it, the engine lowers it, and
`duolog.testing.reference` evaluates it in plain Python.

Start with `nodes`, then `levels`, which cuts a plan into what runs together.
"""

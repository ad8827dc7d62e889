"""The base class of the DSL's objects, with errors that are easy to fix.

Errors have hints for names of other libraries, and tracebacks that end at the user's line. Start
with `handles`.
"""

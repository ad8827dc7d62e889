"""The base class of the DSL's objects, and what makes mistakes easy to mend.

Hints for names of other libraries, and tracebacks that end at the user's line. Start with `handles`.
"""

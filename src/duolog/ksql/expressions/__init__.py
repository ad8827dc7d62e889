"""Expressions of SQL: names, types and calls, bound to expressions of the plan. Start reading in `binder`."""

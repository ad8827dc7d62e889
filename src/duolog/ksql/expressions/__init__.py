"""Bind SQL expressions (names, types, calls) to expressions of the plan. Start with `binder`."""

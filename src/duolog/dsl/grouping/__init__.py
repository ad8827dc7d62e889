"""Aggregation of groups: folds, reductions, cogroups, and how results are stored and emitted.

Start with `folds`.
"""

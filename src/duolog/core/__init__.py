"""Foundations for all packages: errors, ids, units, settings and the clock.

Imports no other package of Duolog. Start with `errors`, which shows the error tree.
"""

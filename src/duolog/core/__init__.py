"""What every package may use: errors, ids, units, settings, the clock.

Imports nothing of Duolog's. Start with `errors`: it draws the tree of what can go wrong.
"""

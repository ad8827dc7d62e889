"""The methods of streams and tables, as base classes by topic.

Start with `records`, the base of all others.
"""

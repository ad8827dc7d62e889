"""Changelogs of stores and the commit topic: created, checked, and written with each commit."""

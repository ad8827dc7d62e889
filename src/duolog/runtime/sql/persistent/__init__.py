"""Persistent queries: which process runs them, and how they are started, restarted and stopped."""

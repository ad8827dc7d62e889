"""A running query: launch it, watch it, restart it, and report its progress and metrics."""

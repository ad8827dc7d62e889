"""Check a running query, restart it, bound its micro-batches. Start with `supervisor`."""

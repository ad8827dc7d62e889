"""What the broker tells of itself: counters, their text for Prometheus, an HTTP endpoint."""

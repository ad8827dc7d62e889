"""Broker metrics: counters, their text for Prometheus, and an HTTP endpoint."""

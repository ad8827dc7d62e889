"""Errors of the broker for tests."""

from duolog.runtime.errors import BrokerUnavailable


class FaultRefused(BrokerUnavailable):
    """A broker for tests cannot carry out a fault or a step in time now."""

"""Errors of the broker for tests."""

from duolog.core.errors import DuologError
from duolog.runtime.errors import BrokerUnavailable


class FaultRefused(BrokerUnavailable):
    """A broker for tests cannot carry out a fault or a step in time now."""


class TopicMissing(DuologError):
    """A test reads a topic that does not exist."""

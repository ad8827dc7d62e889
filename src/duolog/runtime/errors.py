"""Errors of running applications and brokers."""

from duolog.core.errors import DuologError


class BrokerUnavailable(DuologError):
    """A broker did not start, or does not answer in time."""

"""Errors of running applications, brokers and registries."""

from duolog.core.errors import DuologError


class BrokerUnavailable(DuologError):
    """A broker did not start, or does not answer in time."""


class RegistryUnavailable(DuologError):
    """A schema registry did not start, or does not answer in time."""

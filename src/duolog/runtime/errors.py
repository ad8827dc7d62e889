"""Errors of running applications, brokers and registries."""

from duolog.core.errors import DuologError


class BrokerUnavailable(DuologError):
    """A broker did not start, or does not answer in time."""


class LoginRefused(DuologError):
    """A broker refuses the login of a client, or the client the certificate of a broker."""


class RegistryUnavailable(DuologError):
    """A schema registry did not start, or does not answer in time."""


class ServerUnavailable(DuologError):
    """A SQL server did not start, or does not answer in time."""

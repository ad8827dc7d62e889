"""What can go wrong with something that runs."""

from duolog.core.errors import DuologError


class BrokerUnavailable(DuologError):
    """A broker that did not start, or that does not answer in time."""

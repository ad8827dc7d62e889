"""`-b`, which all commands read alike: before they begin anything, and with the port that may be missing."""

import click

from duolog.core.addresses import whole_servers


def read_servers(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    """Return the servers that an option names, each with its port; None where it was not given.

    Raises:
        ConfigError: one is no address.
    """
    return None if given is None else whole_servers(given)

"""Read the option `-b` and add missing ports."""

import click

from duolog.core.addresses import whole_servers


def read_servers(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    """Return the servers of an option, each with a port; None if the option was not given.

    Raises:
        ConfigError: an address is invalid.
    """
    return None if given is None else whole_servers(given)

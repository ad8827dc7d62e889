"""Complete the names of subjects on the command line."""

import click

from duolog.cli.registry.options import DEFAULT_URL, RegistryAddress
from duolog.core.errors import DuologError


def complete_subjects(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of subjects that start with a text; none without a registry."""
    del parameter
    url = context.params.get("registry_url") or DEFAULT_URL
    try:
        names = RegistryAddress(url).for_completion().subjects(incomplete or ":*:")
    except (DuologError, UnicodeEncodeError):
        # A name that is not UTF-8 starts no subject.
        return []
    return sorted(names)

"""The setting `super.users`."""

from collections.abc import Iterator

from duolog.core.errors import ConfigError
from duolog.security.identity.principal import ANONYMOUS, WILDCARD, Principal


def super_users(text: str) -> Iterator[Principal]:
    """Yield the principals of `super.users`, which are separated by semicolons.

    Raises:
        ConfigError: one is not a principal, or would open the broker to all clients.
    """
    for part in filter(None, (part.strip() for part in text.split(";"))):
        try:
            principal = Principal.parse(part)
        except ValueError as error:
            raise ConfigError(
                str(error),
                name="super.users",
                hint="Write User:NAME, and separate several by semicolons.",
            ) from None
        if principal == ANONYMOUS or principal.name == WILDCARD:
            raise ConfigError(
                f'"{part}" cannot be a super user: every client would be one',
                name="super.users",
                hint="Name single users.",
            )
        yield principal

"""Settings of security that need more than their kind to be read."""

from collections.abc import Iterator

from duolog.broker.identity.mechanisms import OAUTHBEARER, PLAIN
from duolog.core.errors import ConfigError
from duolog.security.credentials.scram import BY_NAME
from duolog.security.identity.principal import ANONYMOUS, WILDCARD, Principal

ISSUER_SETTINGS = (
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.expected.audience",
)
KNOWN = (*BY_NAME, PLAIN, OAUTHBEARER)


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


def enabled_mechanisms(text: str) -> tuple[str, ...]:
    """Return the mechanisms of `sasl.enabled.mechanisms`.

    Raises:
        ConfigError: one is not supported, or there is none.
    """
    names = tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    for name in names:
        if name not in KNOWN:
            raise ConfigError(
                f'SASL mechanism "{name}" is not supported',
                name="sasl.enabled.mechanisms",
                value=name,
                hint=f"Choose among {', '.join(KNOWN)}.",
            )
    if not names:
        raise ConfigError(
            "no SASL mechanism is enabled",
            name="sasl.enabled.mechanisms",
            hint=f"Name at least one of {', '.join(KNOWN)}.",
        )
    return names

"""Settings of security that need more than their kind to be read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from duolog.broker.identity.mechanisms import OAUTHBEARER, PLAIN
from duolog.broker.settings.listener_prefix import prefixed, without_prefix
from duolog.core.errors import ConfigError
from duolog.security.credentials.scram import BY_NAME
from duolog.security.identity.principal import ANONYMOUS, WILDCARD, Principal

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings

ISSUER_SETTINGS = (
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.expected.audience",
)
KNOWN = (*BY_NAME, PLAIN, OAUTHBEARER)
_ENABLED: Final = "sasl.enabled.mechanisms"


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


class EnabledMechanisms:
    """The SASL mechanisms that each listener accepts."""

    def __init__(self, settings: "BrokerSettings") -> None:
        """Read the settings of all listeners.

        Raises:
            ConfigError: a mechanism is not supported, or a listener has none.
        """
        self._by_setting = {
            name: _mechanisms(settings.text(name), name)
            for name in settings.values
            if without_prefix(name) == _ENABLED
        }

    def of(self, listener: str) -> tuple[str, ...]:
        """Return the mechanisms of a listener: its own, or those of all listeners."""
        own = self._by_setting.get(prefixed(listener, _ENABLED))
        return self._by_setting[_ENABLED] if own is None else own


def _mechanisms(text: str, setting: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    for name in names:
        if name not in KNOWN:
            raise ConfigError(
                f'SASL mechanism "{name}" is not supported',
                name=setting,
                value=name,
                hint=f"Choose among {', '.join(KNOWN)}.",
            )
    if not names:
        raise ConfigError(
            "no SASL mechanism is enabled",
            name=setting,
            hint=f"Name at least one of {', '.join(KNOWN)}.",
        )
    return names

"""Settings of security that need more than their kind to be read."""

from typing import TYPE_CHECKING, Final

from duolog.broker.settings.listener_prefix import prefixed, without_prefix
from duolog.core.errors import ConfigError
from duolog.security.credentials.scram import BY_NAME
from duolog.security.logins.mechanisms import OAUTHBEARER, PLAIN

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings

KNOWN = (*BY_NAME, PLAIN, OAUTHBEARER)
_ENABLED: Final = "sasl.enabled.mechanisms"


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

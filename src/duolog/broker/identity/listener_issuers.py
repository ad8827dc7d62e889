"""The issuers of tokens that each listener accepts.

    listener.name.NAME.oauthbearer.sasl.oauthbearer.…  >  listener.name.NAME.sasl.oauthbearer.…
        >  sasl.oauthbearer.…

Each setting has its own fallback. A listener whose values equal those of all listeners shares their
issuer, and its keys. A listener without an issuer accepts only tokens of `duolog tokens`.

Source: Kafka `ChannelBuilders.channelBuilderConfigs`, `ConfigurationUtils.get`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from duolog.broker.settings.listener_prefix import listener_of, prefixed, without_prefix
from duolog.core.errors import ConfigError
from duolog.security.logins.issuer_settings import has_issuer
from duolog.security.logins.mechanisms import OAUTHBEARER
from duolog.security.logins.setting_rows import ISSUER_ROWS

if TYPE_CHECKING:
    from duolog.broker.identity.needs import Broker
    from duolog.broker.settings import BrokerSettings
    from duolog.security.logins.jwks import Issuer
    from duolog.security.sasl.bearer_exchange import Verify


class ListenerIssuers:
    """Verifies tokens at the listeners of one broker."""

    def __init__(self, broker: "Broker") -> None:
        """Read the settings.

        Raises:
            ConfigError: only a part of what an issuer needs is set, or an address cannot be used.
        """
        self._broker = broker
        everywhere = _Listener(broker.settings, "")
        self._by_values = {everywhere.values: self._issuer(everywhere)}
        self._everywhere = everywhere.values
        self._own: dict[str, tuple[str, ...]] = {}
        for name in sorted(_listeners(broker.settings)):
            own = _Listener(broker.settings, name)
            self._own[name] = own.values
            if own.values not in self._by_values:
                self._by_values[own.values] = self._issuer(own)

    @property
    def has_any(self) -> bool:
        """True if a listener has an issuer."""
        return any(issuer is not None for issuer in self._by_values.values())

    def verify_at(self, listener: str) -> "Verify | None":
        """Return what verifies the tokens of a listener's issuer; None if it has no issuer.

        An empty name is that of all listeners together.
        """
        issuer = self._by_values[self._own.get(listener.lower(), self._everywhere)]
        return None if issuer is None else issuer.verify

    def start(self) -> None:
        """Load the keys.

        Raises:
            ConfigError: keys are in a file that cannot be used.
        """
        for issuer in self._by_values.values():
            if issuer is not None:
                issuer.start()

    def _issuer(self, listener: "_Listener") -> "Issuer | None":
        if not has_issuer(listener):
            return None
        # Loaded here: other brokers need no JSON Web Tokens.
        from duolog.security.logins.jwks import Issuer, rules_of  # noqa: PLC0415

        try:
            rules = rules_of(listener)
        except ConfigError as error:
            raise listener.error(error) from error
        if rules is None:
            return None
        return Issuer(listener, rules, self._broker.clock, self._broker.loop)


class _Listener(NamedTuple):
    """The settings of an issuer as a listener has them."""

    settings: "BrokerSettings"
    name: str
    """In lower case; empty for all listeners."""

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self.text(row.name).strip() for row in ISSUER_ROWS)

    def text(self, name: str) -> str:
        if not self.name:
            return self.settings.text(name)
        return self.settings.of_mechanism(self.name, OAUTHBEARER, name)

    def integer(self, name: str) -> int:
        return int(self.text(name))

    def error(self, error: ConfigError) -> ConfigError:
        """Return an error with the listener, if it is one of this listener's settings."""
        if not self.name:
            return error
        return ConfigError(
            f'listener "{self.name}": {error.message}',
            name=prefixed(self.name, error.name),
            detail=error.detail,
            hint=error.hint,
        )


def _listeners(settings: "BrokerSettings") -> Iterator[str]:
    """Find the listeners with settings of an issuer of their own."""
    names = {row.name for row in ISSUER_ROWS}
    suffix = f".{OAUTHBEARER.lower()}"
    for setting in settings.values:
        listener = listener_of(setting)
        if listener and without_prefix(setting) in names:
            yield listener.removesuffix(suffix)

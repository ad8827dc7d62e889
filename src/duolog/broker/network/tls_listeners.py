"""The certificates of all listeners with TLS, and when they are loaded again.

    at the start          an error stops the broker
    a setting changes     an error refuses the change, see `ensure_usable`
    a file changes        looked for every 10 s; an error is logged, and the old certificate stays
    SIGHUP                the same, at once

Threads: the loop.

Source: Kafka `DynamicBrokerConfig`, `SslFactory.validateReconfiguration`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from duolog.broker.network.endpoints import ENCRYPTED, SASL_SSL, danger_of
from duolog.broker.settings.listener_prefix import without_prefix
from duolog.core.errors import ConfigError
from duolog.security.tls.settings import NAMES, TlsSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duolog.broker.event_loop.loop import Timers
    from duolog.broker.network.endpoints import OpenEndpoint
    from duolog.broker.settings import BrokerSettings
    from duolog.security.tls.reloading import ListenerTls

_LOOK_S: Final = 10.0


class TlsListeners:
    """The listeners with TLS, by name."""

    def __init__(
        self, settings: "BrokerSettings", endpoints: "Sequence[OpenEndpoint]" = ()
    ) -> None:
        """Load the certificates of all.

        Raises:
            ConfigError: one cannot be used.
        """
        self._settings = settings
        self._endpoints = endpoints
        self._by_name: dict[str, ListenerTls] = {
            endpoint.name: _load(settings, endpoint)
            for endpoint in endpoints
            if endpoint.protocol in ENCRYPTED
        }

    def __iter__(self) -> "Iterator[ListenerTls]":
        return iter(self._by_name.values())

    def get(self, listener: str) -> "ListenerTls | None":
        """Return the TLS of a listener; None if it has none."""
        return self._by_name.get(listener)

    def follow_files(self, timers: "Timers") -> None:
        """Start to look for changed files."""
        if self._by_name:
            timers.call_later(_LOOK_S, partial(self._look, timers))

    def reload(self) -> None:
        """Load all certificates again, whether or not their files have changed."""
        for tls in self:
            tls.try_reload()

    def settings_changed(self, names: set[str]) -> None:
        """Follow settings that were set at run time, also to the value that they had."""
        if any(without_prefix(name) in NAMES for name in names):
            self.reload()
        else:
            self._follow()

    def ensure_usable(self, candidate: "BrokerSettings") -> None:
        """Check settings before they are changed at run time, and those of an earlier run time.

        Raises:
            ConfigError: a listener could not use its certificates, or would become insecure.
        """
        insecure = candidate.boolean("allow.insecure.listen")
        for endpoint in self._endpoints:
            client_auth = candidate.of_listener(endpoint.name, "ssl.client.auth")
            danger = danger_of(endpoint.protocol, client_auth)
            if danger and not insecure and endpoint._replace(danger=danger).insecure:
                raise ConfigError(
                    f'listener "{endpoint.name}" is beyond loopback, and {danger}',
                    name="ssl.client.auth",
                    hint="Leave ssl.client.auth=required. If the broker does not start, it was "
                    "changed at run time: start it on loopback, and change it back.",
                )
            if endpoint.name in self._by_name:
                _load(candidate, endpoint)

    def _look(self, timers: "Timers") -> None:
        self.follow_files(timers)
        self._follow()

    def _follow(self) -> None:
        for tls in self:
            tls.follow_files()


def _load(settings: "BrokerSettings", endpoint: "OpenEndpoint") -> "ListenerTls":
    # Loaded here: a broker without TLS needs no OpenSSL.
    from duolog.security.tls.reloading import ListenerTls  # noqa: PLC0415

    return ListenerTls(
        endpoint.name,
        partial(tls_settings, settings, endpoint.name),
        then_sasl=endpoint.protocol == SASL_SSL,
    )


def tls_settings(settings: "BrokerSettings", listener: str) -> TlsSettings:
    """Return the settings of TLS of a listener."""
    return TlsSettings.read(partial(settings.of_listener, listener))

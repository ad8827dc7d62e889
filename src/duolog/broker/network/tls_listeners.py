"""The certificates of all listeners with TLS, and when they are loaded again.

    at the start          an error in what is given stops the broker; one in what was set at an
                          earlier run time is logged, and the certificate of the start is used,
                          unless clients would be trusted otherwise, see `use_earlier_changes`
    a setting changes     an error refuses the change, see `ensure_usable`
    a file changes        looked for every 10 s; an error is logged, and the old certificate stays
    SIGHUP                the same, at once

Threads: the loop.

Source: Kafka `DynamicBrokerConfig.updateBrokerConfig`, `SslFactory.validateReconfiguration`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from duolog.broker.network.endpoints import ENCRYPTED, SASL_SSL, danger_of
from duolog.broker.settings.listener_prefix import without_prefix
from duolog.core.errors import ConfigError
from duolog.security.tls.settings import NAMES, NONE, TlsSettings

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
        """Check settings before they are changed at run time.

        Raises:
            ConfigError: a listener could not use its certificates, or would become insecure.
        """
        for endpoint in self._endpoints:
            _ensure_secure(candidate, endpoint)
            if endpoint.name in self._by_name:
                _load(candidate, endpoint)

    def use_earlier_changes(self) -> None:
        """Follow the settings that were set at an earlier run time, before clients are accepted.

        As in Apache Kafka, a file that is missing does not stop the start: the error is logged, and
        the listener shows the certificate that is given at the start. Apache Kafka then also trusts
        the authorities of the start, or asks for no certificate. Here, that is an error: clients
        that the administrator has locked out could connect again.

        Raises:
            ConfigError: a listener would be insecure, or trust other clients than was set.
        """
        for endpoint in self._endpoints:
            _ensure_secure(self._settings, endpoint)
            if endpoint.name in self._by_name:
                try:
                    _load(self._settings, endpoint)
                except ConfigError as error:
                    self._ensure_same_trust(endpoint, error)
        self.settings_changed({*self._settings.default, *self._settings.own})

    def _ensure_same_trust(self, endpoint: "OpenEndpoint", error: ConfigError) -> None:
        given = tls_settings(type(self._settings)(self._settings.static), endpoint.name)
        wanted = tls_settings(self._settings, endpoint.name)
        if wanted.client_auth != NONE and _trust(wanted) != _trust(given):
            raise ConfigError(
                f'listener "{endpoint.name}" cannot check client certificates as it was set at '
                "run time",
                name="ssl.truststore.location",
                detail=error.one_line(),
                hint="Restore the file. The broker does not start with other authorities or "
                "without client certificates: clients could connect that you have locked out.",
            ) from error

    def _look(self, timers: "Timers") -> None:
        self.follow_files(timers)
        self._follow()

    def _follow(self) -> None:
        for tls in self:
            tls.follow_files()


def _ensure_secure(candidate: "BrokerSettings", endpoint: "OpenEndpoint") -> None:
    client_auth = candidate.of_listener(endpoint.name, "ssl.client.auth")
    danger = danger_of(endpoint.protocol, client_auth)
    insecure = candidate.boolean("allow.insecure.listen")
    if danger and not insecure and endpoint._replace(danger=danger).insecure:
        raise ConfigError(
            f'listener "{endpoint.name}" is beyond loopback, and {danger}',
            name="ssl.client.auth",
            hint="Leave ssl.client.auth=required. If the broker does not start, it was "
            "changed at run time: start it on loopback, and change it back.",
        )


def _trust(settings: TlsSettings) -> tuple[str, str, str]:
    return settings.client_auth, settings.truststore_location, settings.trusted_certificates


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

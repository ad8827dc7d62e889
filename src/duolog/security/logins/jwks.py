"""The keys of an issuer of JSON Web Tokens: fetched by https or read from a file, and kept fresh.

    start ─▶ fetch ─▶ keys ── refresh.ms ─▶ fetch …        on a thread, never on the loop
                        ▲ an unknown key id, at most every 10 s

The operator sets the address. It must be https, or the absolute path of a file; no other scheme is
accepted, redirects are not followed, no proxy of the environment is used, and the size is bounded.
While there are no keys, every token is refused.

Source: Kafka `RefreshingHttpsJwks`; CVE-2025-27817 was a broker that could be made to read files.
"""

import http.client
import json
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from duolog.core.errors import ConfigError
from duolog.core.units import MIB, SECOND_MS
from duolog.security.logins.issuer_settings import ISSUER_SETTINGS, Settings
from duolog.security.sasl.bearer_exchange import InvalidToken
from duolog.security.sasl.jwt import Keys, Rules, UnknownKey, verify

if TYPE_CHECKING:
    from duolog.core.clock import Clock
    from duolog.security.identity.principal import Principal

logger = logging.getLogger(__name__)

URL, ISSUER, AUDIENCE = ISSUER_SETTINGS
_REFRESH: Final = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
_BYTES_MAX: Final = MIB
_TIMEOUT_S: Final = 10.0
_RETRY_S: Final = 10.0
_OK: Final = 200


class Scheduler(Protocol):
    """The event loop of a server; asyncio's is one."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> object: ...
    def call_soon_threadsafe(self, callback: Callable[[], None], /) -> object: ...


def rules_of(settings: Settings) -> Rules | None:
    """Return the rules for tokens of an issuer; None if no issuer is configured.

    Raises:
        ConfigError: only a part of what is needed is set, or the address cannot be used.
    """
    values = {name: settings.text(name).strip() for name in (URL, ISSUER, AUDIENCE)}
    if not any(values.values()):
        return None
    for name, value in values.items():
        if not value:
            raise ConfigError(
                f'setting "{name}" is missing, without which any token could be accepted',
                name=name,
                hint=f"Set {URL}, {ISSUER} and {AUDIENCE}, or none of them.",
            )
    check_address(values[URL])
    audiences = frozenset(filter(None, (each.strip() for each in values[AUDIENCE].split(","))))
    return Rules(
        values[ISSUER],
        audiences,
        settings.integer("sasl.oauthbearer.clock.skew.seconds"),
        settings.text("sasl.oauthbearer.sub.claim.name") or "sub",
    )


def check_address(address: str) -> None:
    """Return if keys may be fetched from an address.

    Raises:
        ConfigError: it is neither https nor the absolute path of a file.
    """
    parts = urlsplit(address)
    web = parts.scheme == "https" and parts.hostname and not parts.username and not parts.fragment
    if not (web or address.startswith("/")):
        raise ConfigError(
            "the address of the keys of the issuer cannot be used",
            name=URL,
            hint="Write an address with https://, or the absolute path of a file.",
        )


def fetch_keys(address: str, context: ssl.SSLContext | None = None) -> Keys:
    """Return the keys at an address; takes as long as the network does.

    Raises:
        OSError: it cannot be read.
        ValueError: the answer is not a JWKS document, or too large.
    """
    if address.startswith("/"):
        with Path(address).open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    else:
        data = _get(address, context or ssl.create_default_context())
    if len(data) > _BYTES_MAX:
        raise ValueError("document is too large")
    return Keys(json.loads(data))


def _get(address: str, context: ssl.SSLContext) -> bytes:
    """Fetch a document; a redirect is an error: it could lead to another host."""
    parts = urlsplit(address)
    assert parts.hostname is not None
    connection = http.client.HTTPSConnection(
        parts.hostname, parts.port, timeout=_TIMEOUT_S, context=context
    )
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        connection.request("GET", target, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != _OK:
            raise OSError(f"status {response.status}")
        return response.read(_BYTES_MAX + 1)
    except http.client.HTTPException as error:
        raise OSError(type(error).__name__) from error
    finally:
        connection.close()


class Issuer:
    """Verifies tokens of the configured issuer."""

    def __init__(
        self,
        settings: Settings,
        rules: Rules,
        clock: "Clock",
        loop: Scheduler,
        *,
        fetch: Callable[[str], Keys] = fetch_keys,
    ) -> None:
        self._address = settings.text(URL).strip()
        self._refresh_s = settings.integer(_REFRESH) / SECOND_MS
        self._rules = rules
        self._clock = clock
        self._loop = loop
        self._fetch = fetch
        self._keys: Keys | None = None
        self._fetching = False
        self._fetched_at = float("-inf")

    def start(self) -> None:
        """Read the keys of a file now, or begin to fetch them.

        Raises:
            ConfigError: the file cannot be read, or has no keys.
        """
        if self._address.startswith("/"):
            try:
                self._keys = self._fetch(self._address)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f'file "{self._address}" with the keys of the issuer cannot be used',
                    name=URL,
                    detail=str(error),
                ) from error
            self._fetched_at = self._clock.monotonic()
            self._loop.call_later(self._refresh_s, self._refresh)
        else:
            self._refresh()

    def verify(self, text: str) -> "tuple[Principal, int]":
        """Return the principal of a token, and when it expires in ms.

        Raises:
            InvalidToken: the token is not valid, or there are no keys yet.
        """
        if self._keys is None:
            raise InvalidToken("keys of the issuer are not loaded")
        try:
            return verify(text, self._keys, self._rules, self._clock.now_ms() / SECOND_MS)
        except UnknownKey:
            if self._clock.monotonic() - self._fetched_at >= _RETRY_S:
                self._fetch_now()  # The issuer may have a new key; the client tries again.
            raise

    def _refresh(self) -> None:
        self._fetch_now()
        wait_s = self._refresh_s if self._keys is not None else _RETRY_S
        self._loop.call_later(wait_s, self._refresh)

    def _fetch_now(self) -> None:
        if self._fetching:
            return
        self._fetching, self._fetched_at = True, self._clock.monotonic()
        # A thread of its own, which nothing waits for: a network may take long.
        Thread(target=self._work, name="jwks", daemon=True).start()

    def _work(self) -> None:
        try:
            keys, problem = self._fetch(self._address), ""
        except Exception as error:  # noqa: BLE001  The edge: or no key would be loaded again.
            keys, problem = None, f"{type(error).__name__}: {error}"
        self._loop.call_soon_threadsafe(lambda: self._fetched(keys, problem))

    def _fetched(self, keys: Keys | None, problem: str) -> None:
        self._fetching = False
        if keys is not None:
            self._keys = keys
            logger.info("loaded keys of the issuer", extra={"keys": len(keys)})
        else:
            logger.warning("cannot load keys of the issuer", extra={"error": problem})

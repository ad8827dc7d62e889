"""Issuers of tokens that one listener accepts: settings of Kafka's two forms, and their fallback."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from joserfc import jws
from joserfc.jwk import ECKey

from duolog.broker.identity.listener_issuers import ListenerIssuers
from duolog.broker.settings import BrokerSettings
from duolog.core.clock import SystemClock
from duolog.core.errors import ConfigError
from duolog.security.logins import jwks
from duolog.security.sasl.bearer_exchange import InvalidToken

KEYS: Final = {name: ECKey.generate_key("P-256", {"kid": name}) for name in ("a", "b")}
INSIDE: Final = "listener.name.inside."
SUBJECT_CLAIM: Final = "sasl.oauthbearer.sub.claim.name"
HANDSHAKE, AUTHENTICATE = 17, 36


class Issuers:
    """Two issuers whose keys are in files, and the tokens that they sign."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name, key in KEYS.items():
            document = {"keys": [key.as_dict(private=False)]}
            (folder / f"{name}.json").write_text(json.dumps(document))

    def settings(self, name: str, prefix: str = "") -> dict[str, str]:
        return {
            f"{prefix}{jwks.URL}": str(self._folder / f"{name}.json"),
            f"{prefix}{jwks.ISSUER}": f"https://{name}.example",
            f"{prefix}{jwks.AUDIENCE}": "kafka",
        }

    def token(self, name: str, **changed: object) -> str:
        claims = {
            "iss": f"https://{name}.example",
            "aud": "kafka",
            "sub": f"user-of-{name}",
            "exp": time.time() + 600,
            **changed,
        }
        return jws.serialize_compact({"alg": "ES256", "kid": name}, json.dumps(claims), KEYS[name])


@pytest.fixture
def two(tmp_path: Path) -> Issuers:
    return Issuers(tmp_path)


def issuers_of(settings: dict[str, str]) -> ListenerIssuers:
    broker = SimpleNamespace(settings=BrokerSettings(settings), clock=SystemClock(), loop=None)
    return ListenerIssuers(cast("Any", broker))


def opened(open_harness: Any, settings: dict[str, str]) -> Any:
    harness = open_harness(
        **settings,
        sasl_enabled_mechanisms="OAUTHBEARER",
        connection_failed_authentication_delay_ms="0",
    )
    harness.broker.security.start()
    harness.broker.entrances.gated |= {"INSIDE", "OUTSIDE"}
    return harness


def user_at(harness: Any, listener: str, token: str) -> str | None:
    """Return the user that a token logs in at a listener, or None if it is refused."""
    client = harness.client()
    client.connection.listener = listener
    assert client.ask(HANDSHAKE, 1, mechanism="OAUTHBEARER").error_code == 0
    answer = client.ask(AUTHENTICATE, 2, auth_bytes=f"n,,\1auth=Bearer {token}\1\1".encode())
    if answer.error_code or answer.auth_bytes:  # The reason for a refusal.
        return None
    return str(client.connection.identity.principal.name)


@pytest.mark.parametrize("prefix", [INSIDE, f"{INSIDE}oauthbearer."])
def test_a_listener_accepts_the_tokens_of_its_own_issuer_only(
    open_harness: Any, two: Issuers, prefix: str
) -> None:
    harness = opened(open_harness, two.settings("a") | two.settings("b", prefix))

    assert user_at(harness, "INSIDE", two.token("b")) == "user-of-b"
    assert user_at(harness, "OUTSIDE", two.token("a")) == "user-of-a"
    assert user_at(harness, "INSIDE", two.token("a")) is None
    assert user_at(harness, "OUTSIDE", two.token("b")) is None


def test_without_an_issuer_of_all_listeners_the_others_accept_none(
    open_harness: Any, two: Issuers
) -> None:
    harness = opened(open_harness, two.settings("b", INSIDE))

    assert user_at(harness, "INSIDE", two.token("b")) == "user-of-b"
    assert user_at(harness, "OUTSIDE", two.token("b")) is None


def test_a_setting_of_the_mechanism_takes_precedence_over_that_of_the_listener(
    open_harness: Any, two: Issuers
) -> None:
    harness = opened(
        open_harness,
        two.settings("a")
        | {f"{INSIDE}{jwks.AUDIENCE}": "weaker"}
        | {f"{INSIDE}oauthbearer.{jwks.AUDIENCE}": "stronger"},
    )

    assert user_at(harness, "INSIDE", two.token("a", aud="stronger")) == "user-of-a"
    assert user_at(harness, "INSIDE", two.token("a", aud="weaker")) is None
    assert user_at(harness, "INSIDE", two.token("a")) is None
    assert user_at(harness, "OUTSIDE", two.token("a")) == "user-of-a"


def test_settings_that_a_listener_does_not_have_are_those_of_all_listeners(
    open_harness: Any, two: Issuers
) -> None:
    harness = opened(open_harness, two.settings("a") | {f"{INSIDE}{SUBJECT_CLAIM}": "mail"})
    token = two.token("a", mail="someone")

    assert user_at(harness, "INSIDE", token) == "someone"
    assert user_at(harness, "OUTSIDE", token) == "user-of-a"


def test_a_listener_may_have_no_issuer_although_others_have_one(
    open_harness: Any, two: Issuers
) -> None:
    none = dict.fromkeys(two.settings("a", INSIDE), "")
    harness = opened(open_harness, two.settings("a") | none)

    assert user_at(harness, "INSIDE", two.token("a")) is None
    assert user_at(harness, "OUTSIDE", two.token("a")) == "user-of-a"


def test_metrics_accept_the_tokens_of_the_issuer_of_all_listeners(
    open_harness: Any, two: Issuers
) -> None:
    harness = opened(open_harness, two.settings("a") | two.settings("b", INSIDE))
    security = harness.broker.security

    assert security.client_of_token(two.token("a"), "127.0.0.1").principal.name == "user-of-a"
    assert security.client_of_token(two.token("b"), "127.0.0.1") is None


def test_a_clock_skew_of_one_listener_is_allowed_at_this_listener(
    open_harness: Any, two: Issuers
) -> None:
    skew = {f"{INSIDE}sasl.oauthbearer.clock.skew.seconds": "120"}
    harness = opened(open_harness, two.settings("a") | skew)
    late = two.token("a", exp=time.time() - 60)

    verify_at = harness.broker.security.logins.mechanisms.verify_token

    assert verify_at(late, "INSIDE")[0].name == "user-of-a"
    with pytest.raises(InvalidToken, match="expired"):
        verify_at(late, "OUTSIDE")


def test_a_listener_with_the_same_values_shares_the_issuer(two: Issuers) -> None:
    same, other = two.settings("a", INSIDE), two.settings("b", "listener.name.out.side.")

    issuers = issuers_of(two.settings("a") | same | other)

    assert issuers.verify_at("INSIDE") == issuers.verify_at("")
    assert issuers.verify_at("OUT.SIDE") != issuers.verify_at("")


@pytest.mark.parametrize("missing", [jwks.URL, jwks.ISSUER, jwks.AUDIENCE])
def test_the_start_is_refused_if_a_listener_misses_one_setting(two: Issuers, missing: str) -> None:
    """CVE-2026-33557: any token could be accepted."""
    settings = two.settings("b", INSIDE)
    del settings[f"{INSIDE}{missing}"]

    with pytest.raises(ConfigError, match="is missing") as caught:
        issuers_of(settings)

    assert caught.value.name == f"{INSIDE}{missing}"
    assert 'listener "inside"' in caught.value.message


def test_an_address_of_a_listener_must_be_https_or_a_file(two: Issuers) -> None:
    """CVE-2025-27817."""
    settings = two.settings("b", INSIDE) | {f"{INSIDE}{jwks.URL}": "http://b.example/keys"}

    with pytest.raises(ConfigError, match="cannot be used") as caught:
        issuers_of(settings)

    assert caught.value.name == f"{INSIDE}{jwks.URL}"


def test_a_key_file_of_a_listener_that_cannot_be_read_stops_the_start(
    open_harness: Any, two: Issuers, tmp_path: Path
) -> None:
    missing = tmp_path / "missing.json"
    settings = two.settings("a") | two.settings("b", INSIDE)
    harness = open_harness(**settings | {f"{INSIDE}{jwks.URL}": str(missing)})

    with pytest.raises(ConfigError, match=r"missing\.json"):
        harness.broker.security.start()

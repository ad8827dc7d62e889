"""The keys of an issuer: what may be configured, and how they are kept fresh."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import RSAKey

from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.security.logins import jwks
from duolog.security.logins.jwks import Issuer, check_address, fetch_keys, rules_of
from duolog.security.sasl.bearer_exchange import InvalidToken
from duolog.security.sasl.jwt import Keys

OLD, NEW = (RSAKey.generate_key(2048, {"kid": kid}) for kid in ("old", "new"))
CONFIGURED = {
    jwks.URL: "https://issuer.example/keys",
    jwks.ISSUER: "https://issuer.example",
    jwks.AUDIENCE: "duolog, other",
}


def document(*keys: Any) -> str:
    return json.dumps({"keys": [key.as_dict(private=False) for key in keys]})


def token(key: Any, now_ms: int) -> str:
    claims = {
        "iss": "https://issuer.example",
        "aud": "duolog",
        "sub": "alice",
        "exp": now_ms / 1000 + 60,
    }
    return jws.serialize_compact({"alg": "RS256", "kid": key.kid}, json.dumps(claims), key)


def test_without_settings_there_is_no_issuer() -> None:
    assert rules_of(BrokerSettings()) is None


@pytest.mark.parametrize("missing", sorted(CONFIGURED))
def test_the_start_is_refused_if_one_setting_is_missing(missing: str) -> None:
    """CVE-2026-33557."""
    settings = {name: value for name, value in CONFIGURED.items() if name != missing}

    with pytest.raises(ConfigError, match="is missing"):
        rules_of(BrokerSettings(settings))
    with pytest.raises(ConfigError, match="is missing"):
        rules_of(BrokerSettings({**settings, missing: "  "}))


def test_all_three_settings_make_rules() -> None:
    rules = rules_of(BrokerSettings(CONFIGURED))

    assert rules is not None
    assert rules.issuer == "https://issuer.example"
    assert rules.audiences == {"duolog", "other"}


@pytest.mark.parametrize(
    "address",
    [
        "http://issuer.example/keys",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "ftp://issuer.example/keys",
        "jar:https://issuer.example!/keys",
        "gopher://x",
        "data:application/json,{}",
        "keys.json",
        "../keys.json",
        "https:///keys",
        "https://user:word@issuer.example/keys",
        "//issuer.example/keys",
    ],
)
def test_other_addresses_than_https_and_absolute_paths_are_refused(address: str) -> None:
    """CVE-2025-27817."""
    if address.startswith("//"):
        pytest.skip("an absolute path on Linux")
    with pytest.raises(ConfigError):
        check_address(address)


def test_a_file_that_cannot_be_used_stops_the_start(open_harness: Any, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    harness = open_harness(**{**CONFIGURED, jwks.URL: str(path)})

    with pytest.raises(ConfigError, match="cannot be used"):
        harness.broker.security.start()
    path.write_text("{}")
    with pytest.raises(ConfigError, match="cannot be used"):
        harness.broker.security.start()


def test_a_token_of_an_issuer_with_a_key_file_logs_in(open_harness: Any, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(document(OLD))
    harness = open_harness(
        **{**CONFIGURED, jwks.URL: str(path), "sasl.enabled.mechanisms": "OAUTHBEARER"}
    )
    harness.broker.security.start()
    harness.broker.entrances.gated.add("")
    now_ms = harness.broker.clock.now_ms()
    client = harness.client()
    assert client.ask(17, 1, mechanism="OAUTHBEARER").error_code == 0

    text = token(OLD, now_ms)
    answer = client.ask(36, 2, auth_bytes=f"n,,\x01auth=Bearer {text}\x01\x01".encode())

    assert answer.error_code == 0
    assert client.connection.identity.principal.name == "alice"
    assert 0 < answer.session_lifetime.total_seconds() <= 60


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(b" " * (2 << 20))

    with pytest.raises(ValueError, match="too large"):
        fetch_keys(str(path))


def test_an_unknown_key_makes_the_issuer_fetch_again_but_not_often(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, loop = harness.broker.clock, harness.broker.loop
    served, fetched = [OLD], threading.Semaphore(0)
    times = 0

    def fetch(address: str) -> Keys:
        nonlocal times
        assert address == CONFIGURED[jwks.URL]
        times += 1
        fetched.release()
        return Keys(json.loads(document(*served)))

    settings = BrokerSettings(CONFIGURED)
    rules = rules_of(settings)
    assert rules is not None
    issuer = Issuer(settings, rules, clock, loop, fetch=fetch)
    with pytest.raises(InvalidToken, match="not loaded"):
        issuer.verify(token(OLD, clock.now_ms()))
    issuer.start()
    harness.turn_until(lambda: issuer._keys is not None)  # noqa: SLF001
    assert issuer.verify(token(OLD, clock.now_ms()))[0].name == "alice"

    served.append(NEW)
    for _ in range(3):
        with pytest.raises(InvalidToken):
            issuer.verify(token(NEW, clock.now_ms()))
    assert times == 1
    after_retry = jwks._RETRY_S + 1  # noqa: SLF001
    now = clock.monotonic() + after_retry
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    with pytest.raises(InvalidToken):
        issuer.verify(token(NEW, clock.now_ms()))
    assert fetched.acquire(timeout=60)
    assert fetched.acquire(timeout=60)
    harness.turn_until(lambda: len(issuer._keys or ()) == 2)  # noqa: SLF001

    assert issuer.verify(token(NEW, clock.now_ms()))[0].name == "alice"


def test_an_answer_that_nothing_expects_does_not_end_the_refreshing(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An issuer that once sent a document nested too deep was never asked again."""
    clock = harness.broker.clock
    answers = [document(OLD), "[" * 100_000]

    def fetch(_address: str) -> Keys:
        return Keys(json.loads(answers.pop()))

    settings = BrokerSettings(CONFIGURED)
    rules = rules_of(settings)
    assert rules is not None
    issuer = Issuer(settings, rules, clock, harness.broker.loop, fetch=fetch)
    issuer.start()
    harness.turn_until(lambda: len(answers) == 1 and not issuer._fetching)  # noqa: SLF001
    now = clock.monotonic() + jwks._RETRY_S + 1  # noqa: SLF001
    monkeypatch.setattr(clock, "monotonic", lambda: now)

    harness.turn_until(lambda: issuer._keys is not None)  # noqa: SLF001

    assert issuer.verify(token(OLD, clock.now_ms()))[0].name == "alice"

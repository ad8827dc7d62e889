"""JSON Web Tokens: what is accepted, and everything that must not be (CVE-2026-33557)."""

import base64
import hashlib
import hmac
import json
import warnings
from typing import Any

import pytest
from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from duolog.security.identity.principal import Principal
from duolog.security.sasl.bearer_exchange import InvalidToken
from duolog.security.sasl.jwt import ALGORITHMS, Keys, Rules, UnknownKey, verify

NOW_S = 1_800_000_000
RULES = Rules("https://issuer.example", frozenset({"duolog", "other"}), 30)
RSA = RSAKey.generate_key(2048, {"kid": "r"})
ELLIPTIC = {
    "ES256": ECKey.generate_key("P-256", {"kid": "e1"}),
    "ES384": ECKey.generate_key("P-384", {"kid": "e2"}),
    "ES512": ECKey.generate_key("P-521", {"kid": "e3"}),
}
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "o"})
CLAIMS = {
    "iss": RULES.issuer,
    "aud": "duolog",
    "sub": "alice",
    "exp": NOW_S + 60,
    "nbf": NOW_S - 60,
    "iat": NOW_S - 60,
}


def document(*keys: Any) -> dict[str, object]:
    return {"keys": [key.as_dict(private=False) for key in keys]}


KEYS = Keys(document(RSA, *ELLIPTIC.values(), EDWARDS))


def signed(
    claims: dict[str, Any] | bytes | None = None,
    *,
    algorithm: str = "RS256",
    key: Any = RSA,
    **header: Any,
) -> str:
    payload = (
        json.dumps(CLAIMS if claims is None else claims)
        if not isinstance(claims, bytes)
        else claims
    )
    protected = {"alg": algorithm, "kid": key.kid, **header}
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    with warnings.catch_warnings(action="ignore", category=SecurityWarning):
        return _serialized(protected, payload, key, algorithm, registry)


def _serialized(protected: Any, payload: Any, key: Any, algorithm: str, registry: Any) -> str:
    return jws.serialize_compact(
        {name: value for name, value in protected.items() if value is not None},
        payload,
        key,
        algorithms=[algorithm],
        registry=registry,
    )


def raw(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def checked(text: str, keys: Keys = KEYS) -> tuple[Principal, int]:
    return verify(text, keys, RULES, NOW_S)


def key_of(algorithm: str) -> Any:
    return ELLIPTIC.get(algorithm) or (EDWARDS if algorithm.startswith("Ed") else RSA)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_a_token_of_the_issuer_is_accepted(algorithm: str) -> None:
    text = signed(algorithm=algorithm, key=key_of(algorithm))

    assert checked(text) == (Principal("User", "alice"), (NOW_S + 60) * 1000)


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": ["x", "other"]},
        {"nbf": NOW_S + 29},
        {"iat": NOW_S + 29},
        {"exp": NOW_S - 29},
        {"exp": NOW_S + 0.5},
    ],
)
def test_what_the_rules_permit_is_accepted(changed: dict[str, Any]) -> None:
    assert checked(signed({**CLAIMS, **changed}))[0].name == "alice"


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": None},
        {"iss": "https://issuer.example/"},
        {"iss": ["https://issuer.example"]},
        {"aud": None},
        {"aud": "Duolog"},
        {"aud": []},
        {"aud": [["duolog"]]},
        {"aud": {"duolog": 1}},
        {"exp": None},
        {"exp": NOW_S - 30},
        {"exp": str(NOW_S + 60)},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": 1e300},
        {"exp": 10**400},
        {"exp": -1},
        {"nbf": NOW_S + 31},
        {"nbf": "soon"},
        {"nbf": 10**400},
        {"nbf": None},
        {"nbf": True},
        {"iat": NOW_S + 31},
        {"sub": None},
        {"sub": ""},
        {"sub": "*"},
        {"sub": 7},
        {"sub": "a\nb"},
        {"sub": "a" * 256},
    ],
)
def test_a_wrong_claim_is_refused_although_the_signature_is_right(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken):
        checked(signed({**CLAIMS, **changed}))


@pytest.mark.parametrize("name", ["iss", "aud", "exp", "sub"])
def test_a_missing_claim_is_refused(name: str) -> None:
    claims = {key: value for key, value in CLAIMS.items() if key != name}

    with pytest.raises(InvalidToken):
        checked(signed(claims))


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "nOnE", "", "HS256", "RSA1_5", None, 5]
)
def test_a_token_without_an_accepted_algorithm_is_refused(algorithm: Any) -> None:
    for signature in (b"", b"x"):
        with pytest.raises(InvalidToken):
            checked(raw({"alg": algorithm, "kid": "r"}, CLAIMS, signature))


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_the_public_key_is_not_a_secret_of_hmac(algorithm: str) -> None:
    """Algorithm confusion: the attacker signs with the public key, which is not secret."""
    header = {"alg": algorithm, "kid": "r"}
    unsigned = raw(header, CLAIMS).rstrip(".")
    for secret in (
        RSA.as_pem(private=False),
        json.dumps(RSA.as_dict(private=False)).encode(),
        b"",
    ):
        digest = hmac.digest(secret, unsigned.encode(), f"sha{algorithm[2:]}")
        signature = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        with pytest.raises(InvalidToken):
            checked(f"{unsigned}.{signature}")


def test_a_symmetric_key_of_the_document_verifies_nothing() -> None:
    row = {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "h"}
    keys = Keys({"keys": [row, RSA.as_dict(private=False)]})
    unsigned = raw({"alg": "HS256", "kid": "h"}, CLAIMS).rstrip(".")
    digest = hmac.new(b"s" * 32, unsigned.encode(), hashlib.sha256).digest()

    with pytest.raises(InvalidToken):
        checked(f"{unsigned}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}", keys)
    assert len(keys) == 1


def test_every_changed_part_of_a_token_is_refused() -> None:
    header, claims, signature = signed().split(".")
    other = raw({}, {**CLAIMS, "sub": "root"}).split(".")[1]
    foreign = signed({**CLAIMS, "sub": "root"}).split(".")[2]

    for text in (
        f"{header}.{other}.{signature}",
        f"{header}.{claims}.{foreign}",
        f"{header}.{claims}.",
        f"{header}.{claims}",
        f"{header}.{claims}.{signature}.{signature}",
        f"{header}.{claims}.{signature[:-8]}",
        f".{claims}.{signature}",
        "",
        "..",
        "a.b.c",
    ):
        with pytest.raises(InvalidToken):
            checked(text)


def test_a_key_of_another_issuer_under_the_same_id_is_refused() -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "r"})

    with pytest.raises(InvalidToken, match="signature is wrong"):
        checked(signed(key=stranger))


def test_an_unknown_key_id_is_reported_as_such() -> None:
    with pytest.raises(UnknownKey):
        checked(signed(key=RSAKey.generate_key(2048, {"kid": "new"})))


@pytest.mark.parametrize(
    ("algorithm", "key_id"), [("EdDSA", "r"), ("RS256", "e1"), ("ES256", "e2"), ("ES512", "e1")]
)
def test_a_key_of_another_type_or_curve_is_not_tried(algorithm: str, key_id: str) -> None:
    with pytest.raises(UnknownKey):
        checked(raw({"alg": algorithm, "kid": key_id}, CLAIMS, b"x" * 64))


@pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c"])
def test_a_key_that_the_token_brings_along_is_not_used(name: str) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "r"})
    brought: Any = {
        "jwk": stranger.as_dict(private=False),
        "jku": "https://evil.example/keys",
        "x5u": "https://evil.example/cert",
        "x5c": ["AAAA"],
    }[name]

    with pytest.raises(InvalidToken):
        checked(signed(key=stranger, **{name: brought}))


@pytest.mark.parametrize("header", [{"crit": ["exp"]}, {"b64": True}, {"kid": 7}])
def test_a_header_that_changes_the_meaning_is_refused(header: dict[str, Any]) -> None:
    body = signed().split(".")
    head = base64.urlsafe_b64encode(json.dumps({"alg": "RS256", "kid": "r", **header}).encode())

    with pytest.raises(InvalidToken):
        checked(".".join((head.rstrip(b"=").decode(), *body[1:])))


def test_a_token_without_a_key_id_is_verified_by_every_fitting_key() -> None:
    other = RSAKey.generate_key(2048, {"kid": "first"})
    keys = Keys(document(other, RSA))

    assert checked(signed(kid=None), keys)[0].name == "alice"


def test_a_key_for_another_algorithm_or_use_does_not_verify() -> None:
    for fields in ({"alg": "RS512"}, {"use": "enc"}, {"key_ops": ["sign"]}):
        keys = Keys(
            {"keys": [{**RSA.as_dict(private=False), **fields}, EDWARDS.as_dict(private=False)]}
        )
        with pytest.raises(InvalidToken):
            checked(signed(), keys)


def test_short_rsa_keys_are_left_out() -> None:
    with warnings.catch_warnings(action="ignore", category=SecurityWarning):
        short = document(RSAKey.generate_key(1024, {"kid": "short"}))

    with pytest.raises(ValueError, match="no public key"):
        Keys(short)


@pytest.mark.parametrize(
    "bad", [None, [], {}, {"keys": {}}, {"keys": []}, {"keys": [1, {}, {"kty": "RSA"}]}]
)
def test_a_document_without_keys_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="key"):
        Keys(bad)


@pytest.mark.parametrize("payload", [b"", b"[]", b"1", b"{", b"[" * 5000])
def test_claims_that_are_not_an_object_are_refused(payload: bytes) -> None:
    with pytest.raises(InvalidToken):
        checked(signed(payload))


def test_a_huge_token_is_refused_before_it_is_read() -> None:
    with pytest.raises(InvalidToken, match="too long"):
        checked("a" * 100_000)


def test_errors_show_nothing_of_a_token() -> None:
    for text in (signed({**CLAIMS, "iss": "Hush"}), "Hush.Hush.Hush"):
        with pytest.raises(InvalidToken) as caught:
            checked(text)
        assert "Hush" not in f"{caught.value!r}{caught.value.__cause__!r}"


@pytest.mark.parametrize("kind", [[], {}, 7, None, ["RSA"]])
def test_an_odd_row_of_a_document_hides_no_other_key(kind: object) -> None:
    """An error here ended the thread that refreshes the keys, and no new key was ever loaded."""
    odd = {**RSA.as_dict(private=False), "kty": kind}

    assert len(Keys({"keys": [odd, RSA.as_dict(private=False)]})) == 1

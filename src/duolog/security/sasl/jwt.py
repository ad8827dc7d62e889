"""Verify JSON Web Tokens against the keys of an issuer.

Checked, in this order: size and form · header: algorithm of the allow-list, nothing critical · a
key of the issuer whose id and type fit · signature · iss · aud · exp, which is required · nbf, iat
· the subject, a name. The keys are only those that the operator's JWKS has: a key in the header of
a token, or an address of one, is never used.

`none` is refused, because any client can write such a token; so are HS256 and the like, with which
a public key would be the secret (CVE-2026-33557 was a server that accepted any token).

Source: RFC 7519, RFC 7515, RFC 8725; Kafka `BrokerJwtValidator`.
"""

import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from joserfc import jws
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from duolog.security.identity.principal import USER, WILDCARD, Principal
from duolog.security.sasl.bearer_exchange import InvalidToken

if TYPE_CHECKING:
    from collections.abc import Iterator

ALGORITHMS: Final = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519"), "OKP"),
}
"""The algorithms of signatures that are accepted, with the type of their keys."""

TOKEN_CHARACTERS_MAX: Final = 32 * 1024
KEYS_MAX: Final = 100
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_RSA_BITS_MIN: Final = 2048
_PRINCIPAL_CHARACTERS_MAX: Final = 255

Key = RSAKey | ECKey | OKPKey


class Rules(NamedTuple):
    """The claims that a token must have."""

    issuer: str
    audiences: frozenset[str]
    """A token must be for one of them."""
    skew_s: int
    """The seconds by which clocks may differ."""
    subject_claim: str = "sub"


class Keys:
    """The public keys of an issuer."""

    def __init__(self, document: object) -> None:
        """Read a JWKS document; keys of other kinds, and private ones, are left out.

        Raises:
            ValueError: it is not a JWKS document, or has no key to verify signatures with.
        """
        rows = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(rows, list) or len(rows) > KEYS_MAX:
            raise ValueError("not a JWKS document with a list of keys")
        self._keys = [key for row in rows if (key := _public_key(row)) is not None]
        if not self._keys:
            raise ValueError("no public key to verify signatures with")

    def __len__(self) -> int:
        return len(self._keys)

    def fitting(self, algorithm: str, key_id: str | None) -> "Iterator[Key]":
        """Yield the keys that can have made a signature."""
        for key in self._keys:
            named = key.get("kid")
            if key_id is not None and named != key_id:
                continue
            if key.key_type != ALGORITHMS[algorithm] or key.get("alg") not in (None, algorithm):
                continue
            if algorithm in _CURVES and key.get("crv") != _CURVES[algorithm]:
                continue
            yield key


def verify(text: str, keys: Keys, rules: Rules, now_s: float) -> tuple[Principal, int]:
    """Return the principal of a token, and the time in ms at which it expires.

    Raises:
        InvalidToken: the token is not valid; the text of the error has no part of the token.
    """
    if len(text) > TOKEN_CHARACTERS_MAX or not text.isascii():
        raise InvalidToken("token is too long, or not ASCII")
    header = _header(text)
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise InvalidToken("algorithm of the signature is not accepted")
    if not isinstance(key_id, str | None):
        raise InvalidToken("key id is not a text")
    if not {"crit", "b64"}.isdisjoint(header):
        raise InvalidToken("header has critical extensions")
    claims = _signed_claims(text, keys, algorithm, key_id)
    _check_issuer(claims, rules)
    expires_at_s = _check_times(claims, rules, now_s)
    return _principal(claims, rules), int(expires_at_s * 1000)


def _header(text: str) -> Mapping[str, object]:
    try:
        return jws.extract_compact(text.encode()).headers()
    except (JoseError, ValueError, TypeError, KeyError, RecursionError):
        raise InvalidToken("token is not a signed JWT") from None


def _signed_claims(text: str, keys: Keys, algorithm: str, key_id: str | None) -> dict[str, object]:
    known = False
    for key in keys.fitting(algorithm, key_id):
        known = True
        try:
            with _quiet():
                payload = jws.deserialize_compact(text, key, algorithms=[algorithm]).payload
        except (JoseError, ValueError):
            continue
        return _claims(payload)
    if known:
        raise InvalidToken("signature is wrong")
    raise UnknownKey("the issuer has no such key")


class UnknownKey(InvalidToken):
    """No key of the issuer fits: it may have a new one."""


def _claims(payload: bytes) -> dict[str, object]:
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError):
        raise InvalidToken("claims are not JSON") from None
    if not isinstance(claims, dict):
        raise InvalidToken("claims are not an object")
    return claims


def _check_issuer(claims: Mapping[str, object], rules: Rules) -> None:
    if claims.get("iss") != rules.issuer:
        raise InvalidToken("issuer is not the expected one")
    found = claims.get("aud")
    audiences = found if isinstance(found, list) else [found]
    texts = {each for each in audiences if isinstance(each, str)}
    if rules.audiences.isdisjoint(texts):
        raise InvalidToken("audience is not an expected one")


def _check_times(claims: Mapping[str, object], rules: Rules, now_s: float) -> float:
    expires_at_s = _time(claims, "exp")
    if expires_at_s is None:
        raise InvalidToken("token has no expiry")
    if expires_at_s + rules.skew_s <= now_s:
        raise InvalidToken("token has expired")
    for name in ("nbf", "iat"):
        since_s = _time(claims, name)
        if since_s is not None and since_s - rules.skew_s > now_s:
            raise InvalidToken("token is not valid yet")
    return expires_at_s


def _time(claims: Mapping[str, object], name: str) -> float | None:
    value = claims.get(name)
    if value is None and name not in claims:
        return None
    # A bool is an int in Python. NaN, which JSON as Python reads it has, is in no range.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken("a time of the token is not a number")
    if not 0 <= value < 1 << 40:
        raise InvalidToken("a time of the token is out of range")
    return float(value)


def _principal(claims: Mapping[str, object], rules: Rules) -> Principal:
    name = claims.get(rules.subject_claim)
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= _PRINCIPAL_CHARACTERS_MAX
        or not name.isprintable()
        or name == WILDCARD
    ):
        raise InvalidToken("token has no usable subject")
    return Principal(USER, name)


_CLASSES: Final[dict[object, Callable[..., Key]]] = {
    "RSA": RSAKey.import_key,
    "EC": ECKey.import_key,
    "OKP": OKPKey.import_key,
}


def _public_key(row: object) -> Key | None:
    """Return the key of a row; None if it cannot verify signatures that are accepted."""
    if not isinstance(row, dict) or row.get("use") not in (None, "sig"):
        return None
    operations = row.get("key_ops")
    if operations is not None and (not isinstance(operations, list) or "verify" not in operations):
        return None
    kind = row.get("kty")
    build = _CLASSES.get(kind) if isinstance(kind, str) else None
    if build is None:
        return None
    public = {name: value for name, value in row.items() if name in _PUBLIC_FIELDS}
    try:
        with _quiet():
            key = build(public)
        if isinstance(key, RSAKey) and key.public_key.key_size < _RSA_BITS_MIN:
            return None
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return key


@contextmanager
def _quiet() -> "Iterator[None]":
    """Ignore what the library warns of: names that a newer RFC replaced, and keys refused here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        yield


_PUBLIC_FIELDS: Final = frozenset({"kty", "kid", "alg", "use", "n", "e", "crv", "x", "y"})

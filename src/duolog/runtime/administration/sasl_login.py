r"""The client's side of a SASL login: the messages that a mechanism sends.

    PLAIN          \0USER\0PASSWORD
    SCRAM          n,,n=USER,r=NONCE ─▶ c=biws,r=BOTH NONCES,p=PROOF, then the server proves itself
    OAUTHBEARER    n,,\x01auth=Bearer TOKEN\x01\x01

A login is a generator: it yields messages and is sent the server's answers.

Source: RFC 4616, RFC 5802, RFC 7628; RFC 6749 section 4.4 for the token.
"""

import base64
import hashlib
import hmac
import json
import secrets
import urllib.parse
import urllib.request
from collections.abc import Generator
from typing import Final

from duolog.core.errors import KafkaError
from duolog.security.clients.client_security import OAUTHBEARER, ClientSecurity, TokenEndpoint

_FAILED: Final = 58
_TIMEOUT_S: Final = 10.0
_ROUNDS_MIN: Final = 4096
"""Fewer would let a false server guess the password from the proof."""
_ROUNDS_MAX: Final = 1_000_000
_DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

Login = Generator[bytes, bytes, None]


def login_of(security: ClientSecurity) -> Login:
    """Return the messages of a login.

    Raises:
        KafkaError: while it runs: the server does not prove that it knows the password, or no
            token is issued.
    """
    if security.mechanism == OAUTHBEARER:
        assert security.token is not None
        return _bearer(security.token)
    if security.mechanism == "PLAIN":
        return _plain(security)
    return _scram(security, _DIGESTS[security.mechanism], secrets.token_urlsafe(24))


def _plain(security: ClientSecurity) -> Login:
    yield f"\0{security.username}\0{security.password}".encode()


def _bearer(endpoint: TokenEndpoint) -> Login:
    yield f"n,,\x01auth=Bearer {_token(endpoint)}\x01\x01".encode()


def _scram(security: ClientSecurity, digest: str, nonce: str) -> Login:
    user = security.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={user},r={nonce}"
    challenge = (yield f"n,,{first}".encode()).decode()
    fields = dict(part.split("=", 1) for part in challenge.split(",") if "=" in part)
    if not fields.get("r", "").startswith(nonce) or not {"s", "i"} <= fields.keys():
        raise _failed("its first message is invalid")
    if not (fields["i"].isdecimal() and _ROUNDS_MIN <= int(fields["i"]) <= _ROUNDS_MAX):
        raise _failed(f"it asks for {fields['i'][:20]} iterations")
    salt, rounds = base64.b64decode(fields["s"]), int(fields["i"])
    salted = hashlib.pbkdf2_hmac(digest, security.password.encode(), salt, rounds)
    client_key = hmac.digest(salted, b"Client Key", digest)
    stored = hashlib.new(digest, client_key).digest()
    unproved = f"c=biws,r={fields['r']}"
    signed = f"{first},{challenge},{unproved}".encode()
    signature = hmac.digest(stored, signed, digest)
    proof = bytes(ours ^ theirs for ours, theirs in zip(client_key, signature, strict=True))
    answer = yield f"{unproved},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
    if not hmac.compare_digest(answer, b"v=" + base64.b64encode(expected)):
        raise _failed("it does not know the password")


def _token(endpoint: TokenEndpoint) -> str:
    client = (
        f"{urllib.parse.quote(endpoint.client_id)}:{urllib.parse.quote(endpoint.client_secret)}"
    )
    form = {"grant_type": "client_credentials"}
    if endpoint.scope:
        form["scope"] = endpoint.scope
    request = urllib.request.Request(  # noqa: S310 - https, or http of this machine: see `TokenEndpoint`
        endpoint.url,
        urllib.parse.urlencode(form).encode(),
        {"Authorization": f"Basic {base64.b64encode(client.encode()).decode()}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
            return str(json.load(answer)["access_token"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KafkaError(
            f"no token from {endpoint.url}",
            code=_FAILED,
            detail=type(error).__name__,
            hint="Check sasl.oauthbearer.client.id, the secret and the scope.",
        ) from None


def _failed(reason: str) -> KafkaError:
    return KafkaError(
        "the server failed the login",
        code=_FAILED,
        detail=f"In SCRAM the server proves itself, too: {reason}.",
        hint="Check that the address is that of your broker.",
    )

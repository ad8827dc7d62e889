"""SASL SCRAM-SHA-256 and SCRAM-SHA-512, the server's side.

    client  n,,n=alice,r=<client nonce>
    server  r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client  c=biws,r=<both nonces>,p=<proof>
    server  v=<signature>

The nonce and the header of the last message are compared with those of the first ones: without
this, a recorded proof could be replayed (CVE-2024-56128). An unknown user gets the same messages
as a known one, and fails at the proof.

Channel binding (SCRAM-…-PLUS) is not offered. Delegation tokens (`tokenauth`) are not supported.

Source: RFC 5802 section 5 and 7, RFC 7677; Kafka `ScramSaslServer`, `ScramMessages`.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from duolog.security.credentials.scram import (
    USER_CHARACTERS_MAX,
    ScramCredential,
    ScramMechanism,
)
from duolog.security.identity.principal import USER, Principal
from duolog.security.sasl.exchange import Challenge, Failure, Result, Success

MESSAGE_BYTES_MAX: Final = 8 * 1024

_SAFE: Final = r"(?:[^,=\0]|=2C|=3D)+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_FIRST: Final = re.compile(
    rf"(?P<header>(?P<binding>[ny]),(?:a=(?P<authzid>{_SAFE}))?,)"
    rf"(?P<bare>n=(?P<user>{_SAFE}),r=(?P<nonce>{_NONCE})(?P<extensions>(?:,[A-Za-z][^,=]*=[^,]*)*))"
)
_LAST: Final = re.compile(
    rf"(?P<unproved>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>{_NONCE})"
    rf"(?:,[A-Za-z]=[^,]*)*),p=(?P<proof>[A-Za-z0-9+/=]+)"
)

Find = Callable[[str], tuple[ScramCredential, bool]]
"""Returns the credential of a user, or a decoy, and whether the user exists."""


class _First(NamedTuple):
    header: str
    bare: str
    user: str
    nonce: str
    server: str
    stored: ScramCredential
    known: bool


class ScramExchange:
    """One SCRAM authentication."""

    def __init__(self, mechanism: ScramMechanism, find: Find, server_nonce: str) -> None:
        """Begin; `server_nonce` is printable, without commas, and used only once."""
        self._mechanism = mechanism
        self._find = find
        self._server_nonce = server_nonce
        self._first: _First | None = None

    @property
    def guessable(self) -> str | None:
        """The user of the first message."""
        return None if self._first is None else self._first.user

    def step(self, message: bytes) -> Result:
        """Answer a message of the client."""
        if len(message) > MESSAGE_BYTES_MAX:
            return Failure("message is too long")
        try:
            text = message.decode()
        except UnicodeDecodeError:
            return Failure("message is not UTF-8")
        return self._begin(text) if self._first is None else self._finish(text, self._first)

    def _begin(self, text: str) -> Result:
        match = _FIRST.fullmatch(text)
        if match is None:
            return Failure("invalid first message")
        user = _name(match["user"])
        if len(user) > USER_CHARACTERS_MAX:
            return Failure("user name is too long")
        if match["authzid"] is not None and _name(match["authzid"]) != user:
            return Failure("authorization id differs from the user", user)
        if ",tokenauth=" in match["extensions"]:
            return Failure("delegation tokens are not supported", user)
        stored, known = self._find(user)
        nonce = match["nonce"] + self._server_nonce
        salt = base64.b64encode(stored.salt).decode()
        server = f"r={nonce},s={salt},i={stored.iterations}"
        self._first = _First(match["header"], match["bare"], user, nonce, server, stored, known)
        return Challenge(server.encode())

    def _finish(self, text: str, first: _First) -> Result:
        match = _LAST.fullmatch(text)
        if match is None:
            return Failure("invalid final message", first.user)
        expected = base64.b64encode(first.header.encode())
        if not hmac.compare_digest(match["binding"].encode(), expected):
            return Failure("channel binding differs from the first message", first.user)
        if not hmac.compare_digest(match["nonce"].encode(), first.nonce.encode()):
            return Failure("nonce differs from the server's", first.user)
        auth_message = f"{first.bare},{first.server},{match['unproved']}".encode()
        if not self._proved(first.stored, auth_message, match["proof"]) or not first.known:
            return Failure("wrong password or unknown user", first.user)
        signature = hmac.digest(first.stored.server_key, auth_message, self._mechanism.digest)
        return Success(b"v=" + base64.b64encode(signature), Principal(USER, first.user))

    def _proved(self, stored: ScramCredential, auth_message: bytes, proof_text: str) -> bool:
        try:
            proof = base64.b64decode(proof_text, validate=True)
        except binascii.Error:
            return False
        digest = self._mechanism.digest
        signature = hmac.digest(stored.stored_key, auth_message, digest)
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        return hmac.compare_digest(hashlib.new(digest, client_key).digest(), stored.stored_key)


def _name(text: str) -> str:
    return text.replace("=2C", ",").replace("=3D", "=")

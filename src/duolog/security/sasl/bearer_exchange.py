"""SASL OAUTHBEARER, the server's side: a token in one message.

    n,[a=authorization id],^Aauth=Bearer TOKEN^A[name=value^A…]^A

A refused token is answered with a JSON object, as the RFC asks; the client then sends one byte, and
the exchange fails.

Source: RFC 7628; Kafka `OAuthBearerSaslServer`, `OAuthBearerClientInitialResponse`.
"""

import re
from collections.abc import Callable
from typing import Final

from duolog.security.credentials.tokens import PREFIX, digest_of, id_of
from duolog.security.identity.principal import Principal
from duolog.security.sasl.exchange import Challenge, Failure, Result, Success

MESSAGE_BYTES_MAX: Final = 64 * 1024
"""Tokens of large organisations hold many groups."""

REFUSED: Final = b'{"status":"invalid_token"}'

_MESSAGE: Final = re.compile(
    r"n,(?:a=(?P<authzid>[^,\x01]*))?,\x01(?P<pairs>(?:[A-Za-z]+=[^\x01]*\x01)+)\x01"
)
_BEARER: Final = re.compile(r"[Bb]earer +(?P<token>[-_.~+/A-Za-z0-9]+=*)")


class InvalidToken(Exception):
    """A token is not valid; the text is the reason, and contains no part of the token."""


Verify = Callable[[str], tuple[Principal, int | None]]
"""Returns the principal of a token and the time in ms at which it expires, or raises."""


def bearer_token(text: str) -> str | None:
    """Return the token of an Authorization header, or None if the text is not one (RFC 6750)."""
    match = _BEARER.fullmatch(text)
    return None if match is None else match["token"]


class BearerExchange:
    """One OAUTHBEARER authentication."""

    guessable: str | None = None

    def __init__(self, verify: Verify) -> None:
        self._verify = verify
        self._refused: Failure | None = None

    def step(self, message: bytes) -> Result:
        """Answer a message of the client."""
        if self._refused is not None:
            return self._refused
        if len(message) > MESSAGE_BYTES_MAX:
            return Failure("message is too long")
        try:
            return self._authenticate(message.decode())
        except UnicodeDecodeError:
            return Failure("message is not UTF-8")
        except InvalidToken as error:
            self._refused = Failure(str(error))
            return Challenge(REFUSED)

    def _authenticate(self, text: str) -> Result:
        match = _MESSAGE.fullmatch(text)
        if match is None:
            return Failure("invalid first message")
        pairs = [pair.partition("=") for pair in match["pairs"].rstrip("\x01").split("\x01")]
        credentials = [value for name, _, value in pairs if name.lower() == "auth"]
        token = bearer_token(credentials[0]) if len(credentials) == 1 else None
        if token is None:
            return Failure("message has no bearer token")
        principal, expires_at_ms = self._verify(token)
        if match["authzid"] not in (None, "", principal.name):
            return Failure("authorization id differs from the user", principal.name)
        token_id = id_of(digest_of(token)) if token.startswith(PREFIX) else ""
        return Success(b"", principal, expires_at_ms, token_id)

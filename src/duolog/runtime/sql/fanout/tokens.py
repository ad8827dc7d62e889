"""Continuation tokens: texts with which a client continues a push query.

    base64url( JSON, CRC-32 )      {"v": 1, "s": service, "q": query, "i": topic id,
                                    "o": offsets, "g": given}

`q` is a digest of the query and the definition of its source, so that a token of another query is
refused. A token has no secret. Without `o`, the client has a part of a
table's current rows, and no position in its topic. Tokens of older releases have no topic id.
"""

import base64
import binascii
import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from typing import Final

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.fanout.errors import TokenRefused
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.positions import Place

_VERSION: Final = 1
_CRC_BYTES: Final = 4
_START_AGAIN: Final = "Start the query again without a continuation token."


def same_rows(source: SourceInfo) -> SourceInfo:
    """Return a source without what does not affect its rows."""
    return replace(source, query="", statement="", read_only=False, is_global=False)


@dataclass(frozen=True, slots=True)
class Continued:
    """Start of a query that continues another one."""

    place: Place | None
    """None: the client has a part of the current rows of a table."""
    topic_id: str = ""
    """Id of the topic that was read; empty if it is not known."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Encodes and decodes the tokens of one query of a service."""

    service_id: str
    fingerprint: str
    topic_id: str = ""
    """Id of the topic that is read; empty if the broker has no topic ids."""

    @classmethod
    def of(cls, shape: Shape, service_id: str) -> "Tokens":
        source = same_rows(shape.source)
        parts = (source, shape.query, shape.everything, sorted(shape.keys))
        return cls(service_id, hashlib.sha256(repr(parts).encode()).hexdigest()[:32])

    def token(self, place: Place | None) -> str:
        """Return the token of a place; None: the client has a part of a table's current rows."""
        content: dict[str, object] = {"v": _VERSION, "s": self.service_id, "q": self.fingerprint}
        if self.topic_id:
            content["i"] = self.topic_id
        if place is not None:
            content["o"] = {str(at): offset for at, offset in sorted(place.offsets.items())}
            if place.given:
                content["g"] = {str(at): rows for at, rows in sorted(place.given.items())}
        data = json.dumps(content, separators=(",", ":")).encode()
        crc = zlib.crc32(data).to_bytes(_CRC_BYTES, "big")
        return base64.urlsafe_b64encode(data + crc).decode().rstrip("=")

    def of_topic(self, topic_id: str) -> "Tokens":
        """Return these tokens for a topic with an id."""
        return replace(self, topic_id=topic_id)

    def start(self, token: str) -> "Continued":
        """Return where a query continues with a token.

        Raises:
            TokenRefused: as `place`.
        """
        return Continued(self.place(token), str(_content(token).get("i", "")))

    def place(self, token: str) -> Place | None:
        """Return the place of a token, None amid the current rows of a table.

        Raises:
            TokenRefused: the text is not a token, or is one of another service or query.
        """
        content = _content(token)
        if content["v"] != _VERSION:
            raise TokenRefused(
                "the continuation token was made by another version", hint=_START_AGAIN
            )
        if content["s"] != self.service_id:
            raise TokenRefused(
                f'the continuation token belongs to service "{content["s"]}", not to '
                f'"{self.service_id}"',
                hint=_START_AGAIN,
            )
        if content["q"] != self.fingerprint:
            raise TokenRefused(
                "the continuation token belongs to another query",
                detail="The SELECT or the definition of its source differs.",
                hint="Send the token with the same SELECT; only its LIMIT may differ.",
            )
        if "o" not in content:
            return None
        place = Place(_numbers(content["o"]), _numbers(content.get("g", {})))
        if not place.given.keys() <= place.offsets.keys():
            raise _invalid()
        return place


def _content(token: str) -> dict[str, object]:
    try:
        padded = token + "=" * (-len(token) % 4)
        data = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)
        text, crc = data[:-_CRC_BYTES], data[-_CRC_BYTES:]
        if zlib.crc32(text).to_bytes(_CRC_BYTES, "big") == crc:
            content = json.loads(text)
            if isinstance(content, dict) and {"v", "s", "q"} <= content.keys():
                return content
    except (ValueError, binascii.Error, RecursionError):
        pass
    raise TokenRefused("the text is not a continuation token, or is incomplete", hint=_START_AGAIN)


def _numbers(given: object) -> dict[int, int]:
    """Return numbers by partition, as `token` has written them."""
    # A client can make up a token: it is not signed.
    if not isinstance(given, dict) or any(type(number) is not int for number in given.values()):
        raise _invalid()
    try:
        found = {int(at): number for at, number in given.items()}
    except ValueError as error:
        raise _invalid() from error
    if any(number < 0 for number in (*found, *found.values())):
        raise _invalid()
    return found


def _invalid() -> TokenRefused:
    return TokenRefused("the continuation token is invalid", hint=_START_AGAIN)

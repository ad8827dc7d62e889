"""The GUID of a schema: the MD5 of its text, references, metadata and rules.

Equal contents have equal GUIDs in every context and every registry.

Source: Confluent `Schema.updateHash` and `MD5`.
"""

import hashlib
import struct
from collections.abc import Iterable
from uuid import UUID

from duolog.registry.contracts.metadata import Metadata
from duolog.registry.contracts.rule_set import RuleSet
from duolog.schemas.schema import Reference


def content_hash(
    schema: str,
    references: Iterable[Reference],
    metadata: Metadata | None,
    rule_set: RuleSet | None,
) -> bytes:
    """Return the 16 bytes of the GUID."""
    digest = hashlib.md5(schema.encode(), usedforsecurity=False)
    for part in references:
        digest.update(part.name.encode() + part.subject.encode() + struct.pack(">i", part.version))
    for contract in (metadata, rule_set):
        if contract is not None:
            digest.update(b"\x01")
            for piece in contract.hashed():
                digest.update(piece)
    return digest.digest()


def guid_text(content: bytes) -> str:
    """Return the GUID as clients see it.

    Example:
        >>> guid_text(content_hash('"string"', (), None, None))
        '095d71cf-1255-6b9d-5e33-0ad575b3df5d'
    """
    return str(UUID(bytes=content))


def guid_bytes(text: str) -> bytes | None:
    """Return the bytes of a GUID; None if the text is not one."""
    try:
        return UUID(text).bytes
    except ValueError:
        return None

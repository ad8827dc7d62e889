"""Commands: statements as records of the command topic.

    {"version": 1, "after": 41, "statement": "CREATE STREAM …", "properties": {…}, "begun": 3,
     "query": "CSAS_LATE_3", "rules": 2, "starts": {"flights": {"0": 812}}, "check": "5f1c07aa"}

A command is valid only directly after the last command that its writer had read (`after`). If two
are written concurrently, the second is void for all readers, and its writer tries again. `check`
detects modified records.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from duolog.ksql.settings import RULES
from duolog.runtime.sql.errors import CommandDamaged

if TYPE_CHECKING:
    from duolog.ksql.catalog.kept_schemas import Kept
    from duolog.ksql.udf.modules import KeptFunction

VERSION: Final = 1
FIRST: Final = -1
"""Value of `after` in the first command."""

Offsets = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> offset."""


@dataclass(frozen=True, slots=True)
class Command:
    """An accepted statement, with everything that its meaning depends on."""

    statement: str
    after: int
    """Offset of the last command when it was accepted."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Session properties set by SET."""
    begun: int = 0
    """Number of query ids assigned before it."""
    query: str = ""
    """Id of the query that it starts or replaces."""
    starts: Offsets = field(default_factory=dict)
    """Start offsets of the query, for topics that it does not read from the first record."""
    function: "KeptFunction | None" = None
    """Definition found by CREATE FUNCTION, for replays without its module."""
    schemas: "Sequence[Kept] | None" = None
    """What it has found in the schema registry, for replays without the registry."""
    rules: int = RULES
    """Version of the rules by which it was accepted; old records do not have it."""


def encode(command: Command) -> bytes:
    """Encode a command as the value of a record."""
    content = {
        "version": VERSION,
        "after": command.after,
        "statement": command.statement,
        "properties": dict(command.properties),
        "begun": command.begun,
        "query": command.query,
        "rules": command.rules,
        "starts": {
            topic: {str(number): at for number, at in offsets.items()}
            for topic, offsets in command.starts.items()
        },
    }
    if command.function is not None:
        content["function"] = command.function
    if command.schemas:
        content["schemas"] = list(command.schemas)
    return json.dumps(content | {"check": _check(content)}, ensure_ascii=False).encode()


def decode(data: bytes | None, topic: str, offset: int) -> Command:
    """Decode the command at an offset.

    Raises:
        CommandDamaged: it is invalid, or written by a newer Duolog.
    """
    try:
        content = json.loads(data or b"null")
    except (ValueError, RecursionError):
        raise CommandDamaged(topic, offset, "It is not JSON.") from None
    if not isinstance(content, dict):
        raise CommandDamaged(topic, offset, "It is not a JSON object.")
    if isinstance(version := content.get("version"), int) and version > VERSION:
        reason = f"Its version is {version}; this Duolog reads {VERSION}."
        raise CommandDamaged(topic, offset, reason, hint="Use the newer Duolog.")
    if content.pop("check", None) != _check(content):
        raise CommandDamaged(topic, offset, "Its checksum does not match.")
    try:
        return _command(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandDamaged(topic, offset, f"Its content is invalid: {error!r}.") from error


def _command(content: Mapping[str, Any]) -> Command:
    return Command(
        str(content["statement"]),
        int(content["after"]),
        {str(name): str(value) for name, value in content["properties"].items()},
        int(content["begun"]),
        str(content["query"]),
        {
            str(topic): {int(number): int(at) for number, at in offsets.items()}
            for topic, offsets in content["starts"].items()
        },
        content.get("function"),
        content.get("schemas"),
        int(content.get("rules", 1)),
    )


def _check(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return f"{zlib.crc32(text.encode()):08x}"

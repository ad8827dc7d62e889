"""Commands: statements as records of the command topic.

    {"version": 1, "after": 41, "statement": "CREATE STREAM …", "properties": {…}, "begun": 3,
     "query": "CSAS_LATE_3", "rules": 2, "starts": {"flights": {"0": 812}}, "check": "5f1c07aa"}

A command counts only where it stands right behind the one that its writer knew last (`after`): of two that were written
at once the second is void, for all readers alike, and its writer tries again. `check` tells of a record that somebody has changed.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from duolog.ksql.settings import RULES
from duolog.runtime.sql.errors import CommandDamaged

VERSION: Final = 1
FIRST: Final = -1
"""What a command knows that is the first one."""

Offsets = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> offset."""


@dataclass(frozen=True, slots=True)
class Command:
    """A statement that was accepted, with all that its meaning depends on."""

    statement: str
    after: int
    """The offset of the command that was the last one when it was accepted."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What SET had said in the session."""
    begun: int = 0
    """How many queries had got a number before it."""
    query: str = ""
    """The id of the query that it begins or replaces."""
    starts: Offsets = field(default_factory=dict)
    """Where the query begins in topics that it does not read from their first record on."""
    function: Mapping[str, Any] | None = None
    """What CREATE FUNCTION has found: statements behind it are understood by that where its module is gone."""
    rules: int = RULES
    """The rules by which it was accepted; records from before there were several do not say so."""


def encode(command: Command) -> bytes:
    """Return a command as the value of a record."""
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
    return json.dumps(content | {"check": _check(content)}, ensure_ascii=False).encode()


def decode(data: bytes | None, topic: str, offset: int) -> Command:
    """Return the command that stands at an offset.

    Raises:
        CommandDamaged: there is none, or a newer Duolog has written it.
    """
    try:
        content = json.loads(data or b"null")
    except (ValueError, RecursionError):
        raise CommandDamaged(topic, offset, "It is no JSON.") from None
    if not isinstance(content, dict):
        raise CommandDamaged(topic, offset, "It is no object.")
    if isinstance(version := content.get("version"), int) and version > VERSION:
        told = f"Its version is {version}; this Duolog reads {VERSION}."
        raise CommandDamaged(topic, offset, told, hint="Use the newer Duolog.")
    if content.pop("check", None) != _check(content):
        raise CommandDamaged(topic, offset, "It is not what was written.")
    try:
        return _command(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandDamaged(topic, offset, f"It has another form: {error!r}.") from error


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
        int(content.get("rules", 1)),
    )


def _check(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return f"{zlib.crc32(text.encode()):08x}"

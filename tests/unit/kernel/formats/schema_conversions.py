"""Rows between formats with schemas, converted by the kernel in a JVM without Spark.

A test gives bytes in one format and looks at the bytes in another: JSON_SR shows rows of any columns.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from unit.kernel.java_program import run_java

Options = Mapping[str, str]
Answers = Mapping[str, Sequence[tuple[int, object]]]

REGISTRY: Final = "mock://registry"

JSON: Final = b"\0\0\0\0\1"
"""The frame of JSON_SR, whose schema is not needed to read it."""
_SHOWN: Final = MappingProxyType({"id": "1"})


class Bad(str):
    """The message of a record or a row that cannot be converted."""

    __slots__ = ()


class Away(str):
    """The message of a registry that does not answer, or not as one."""

    __slots__ = ()


Outcome = bytes | None


@dataclass(frozen=True)
class Conversion:
    """Bytes, and both formats with their options; columns are DDL in which TIME is SMALLINT."""

    columns: str
    data: Sequence[bytes]
    source: str = "JSON_SR"
    read: Options = field(default_factory=dict)
    target: str = "JSON_SR"
    write: Options = field(default_factory=lambda: _SHOWN)


def shown(columns: str, source: str, read: Options, *data: bytes) -> Conversion:
    """Return a conversion to JSON."""
    return Conversion(columns, data, source, read)


def written(columns: str, target: str, write: Options, *rows: str) -> Conversion:
    """Return a conversion of rows in JSON."""
    return Conversion(columns, [JSON + row.encode() for row in rows], target=target, write=write)


@dataclass(frozen=True)
class Converted:
    """The outcomes of each conversion, and the requests to the registry."""

    outcomes: list[list[Outcome | Bad | Away]]
    asked: list[str]


def convert(
    *conversions: Conversion,
    answers: Answers = MappingProxyType({}),
    properties: Options = MappingProxyType({}),
) -> Converted:
    """Convert the bytes of each conversion in turn; JSON comes without its frame.

    Args:
        conversions: what to convert. In options, `REGISTRY` is the address of a registry.
        answers: the status and the body of each answer of the registry, by path. The last one is
            repeated; other paths are schemas that do not exist.
        properties: of the JVM.
    """
    steps = [
        {
            "columns": one.columns,
            "data": [data.hex() for data in one.data],
            "from": one.source,
            "read": dict(one.read),
            "to": one.target,
            "write": dict(one.write),
        }
        for one in conversions
    ]
    given = {"answers": dict(answers), "properties": dict(properties), "steps": steps}
    words = iter(run_java("SchemaConversions", json.dumps(given)))
    outcomes = [[_outcome(next(words), one.target) for _ in one.data] for one in conversions]
    return Converted(outcomes, [bytes.fromhex(word[1:]).decode() for word in words])


def _outcome(word: str, target: str) -> Outcome | Bad | Away:
    if word == "null":
        return None
    data = bytes.fromhex(word[1:])
    match word[0]:
        case "!":
            return Bad(data.decode())
        case "?":
            return Away(data.decode())
    return data.removeprefix(JSON) if target == "JSON_SR" else data

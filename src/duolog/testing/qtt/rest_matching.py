"""Compare responses of the server with those that a case expects.

    {"header": {"queryId|starts_with": "transient_"}}    members that it names; a text may begin so
    {"row": {"columns": [1, "a"]}}                       rows in any order, unless the case has one
    {STATEMENT}                                          stands for the statement that was sent

Source: ksqlDB's own runner, as described next to the cases.
"""

import base64
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from google.protobuf import text_format

from duolog.schemas.protobuf import parse
from duolog.testing.qtt.cases import JsonObject
from duolog.testing.qtt.conditions import Mismatch

_BEGINS: Final = "|starts_with"
_STATEMENT: Final = "{STATEMENT}"
_NEAR: Final = 1e-9
_ENTRY: Final = "Entry"
"""End of the name of a message that is the entry of a map."""


def matches(found: Any, wanted: Any, statement: str = "") -> bool:
    """Return true if a value of JSON has what is expected; it may have more members.

    Example:
        >>> matches({"a": 1, "b": "xyz"}, {"b|starts_with": "x"}), matches([1, 2], [1])
        (True, False)
    """
    match wanted:
        case dict():
            return isinstance(found, dict) and all(
                _member(found, name, one, statement) for name, one in wanted.items()
            )
        case list():
            return (
                isinstance(found, list)
                and len(found) == len(wanted)
                and all(
                    matches(one, other, statement) for one, other in zip(found, wanted, strict=True)
                )
            )
        case bool() | None:
            return found is wanted
        case int() | Decimal() | float():
            return _same_number(found, wanted)
        case str():
            return bool(found == wanted.replace(_STATEMENT, statement))
        case _:
            raise AssertionError(f"{wanted!r} is not JSON")


def _member(found: JsonObject, name: str, wanted: Any, statement: str) -> bool:
    if name.endswith(_BEGINS):
        text = found.get(name.removesuffix(_BEGINS))
        return isinstance(text, str) and text.startswith(wanted.replace(_STATEMENT, statement))
    # A member with a null may be absent.
    return matches(found.get(name), wanted, statement)


def _same_number(found: object, wanted: int | float | Decimal) -> bool:
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal):
        return False
    return found == wanted or math.isclose(float(found), float(wanted), rel_tol=_NEAR)


def ensure_parts(
    found: Sequence[JsonObject], wanted: Sequence[JsonObject], *, in_order: bool
) -> None:
    """Compare the parts of a response of /query: header, rows, final message.

    Raises:
        Mismatch: they differ.
    """
    if len(found) != len(wanted):
        raise Mismatch(f"answer: expected {len(wanted)} parts, found {len(found)}: {found[:20]}")
    rows: list[JsonObject] = []
    expected_rows: list[JsonObject] = []
    for one, other in zip(found, wanted, strict=True):
        if "row" in other:
            rows.append(one)
            expected_rows.append(other)
        elif not matches(one, other):
            raise Mismatch(f"answer: found {one}, expected {other}")
    for expected in expected_rows:
        near = rows[:1] if in_order else rows
        same = next((one for one in near if _same_row(one, expected)), None)
        if same is None:
            raise Mismatch(f"answer: found {near[:20]}, expected {expected}")
        rows.remove(same)


def _same_row(found: JsonObject, wanted: JsonObject) -> bool:
    row, expected = found.get("row"), wanted["row"]
    if not isinstance(row, dict):
        return False
    deleted = bool(isinstance(expected, dict) and expected.get("tombstone"))
    return matches(row, expected) and bool(row.get("tombstone")) == deleted


def ensure_proto_parts(parts: Sequence[JsonObject], wanted: Sequence[JsonObject]) -> None:
    """Compare a response in Protobuf; its rows, and the entries of a map, may have any order.

    Raises:
        Mismatch: they differ.
    """
    header = parts[0].get("header") or {}
    schema = parse(header.get("protoSchema", ""), {})
    row_class = schema.message_class(schema.message_name((0,)))
    found = [row_class.FromString(_bytes(one)) for one in parts if "row" in one]
    expected = [text_format.Parse(one["row"], row_class()) for one in wanted if "row" in one]
    if sorted(map(_sorted_text, found)) != sorted(map(_sorted_text, expected)):
        raise Mismatch(f"answer in Protobuf: rows are {found}, expected {expected}")
    rest = [part for part in parts if "row" not in part]
    ensure_parts(rest, [part for part in wanted if "row" not in part], in_order=True)


def _bytes(part: JsonObject) -> bytes:
    return base64.b64decode(part["row"]["protobufBytes"])


def _sorted_text(message: Any) -> str:
    """Return a message as text, with the entries of each map sorted."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for one in value if field.is_repeated else [value]:
            _sorted_text(one)
        if field.message_type.name.endswith(_ENTRY):
            value.sort(key=lambda one: one.SerializeToString())
    return str(text_format.MessageToString(message))

"""The characters of names: strict for new schemas, Unicode for schemas that are registered."""

import re
import unicodedata
from typing import Final

from duolog.schemas.errors import InvalidSchemaError

_STRICT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_strict(name: str, owner: str) -> None:
    """Refuse a name that is not made of ASCII letters, digits and underscores.

    Args:
        name: the name.
        owner: its kind and what it belongs to, for the message.
    """
    if _STRICT.fullmatch(name) is None:
        _refuse(name, owner, "ASCII letters, digits and underscores")


def check_unicode(name: str, owner: str) -> None:
    """Refuse a name with other characters than letters, digits and underscores of 16 bits."""
    if _STRICT.fullmatch(name) is not None:
        return
    if not name or not _is_letter(name[0]) or not all(map(_is_letter_or_digit, name)):
        _refuse(name, owner, "letters, digits and underscores")


def _is_letter(character: str) -> bool:
    return character == "_" or (
        character <= "\uffff" and unicodedata.category(character).startswith("L")
    )


def _is_letter_or_digit(character: str) -> bool:
    return _is_letter(character) or (
        character <= "\uffff" and unicodedata.category(character) == "Nd"
    )


def _refuse(name: str, owner: str, allowed: str) -> None:
    shown = name if len(name) <= 100 else f"{name[:100]}…"
    raise InvalidSchemaError(
        f"invalid name {shown!r} of {owner}",
        detail=f"A name consists of {allowed}, and does not start with a digit.",
    )

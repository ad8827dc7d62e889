"""String and bytes functions; string lengths count UTF-16 units, as in Java."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final, TypeVar

from duolog.plan.sql.limits import LENGTH_MAX

Sequence = TypeVar("Sequence", str, bytes)

_ESCAPES: Final = re.compile(r"(\\u[0-9a-fA-F]{4})+")
_TRIMMED: Final = "".join(map(chr, range(33)))
_NO_SPACE: Final = "\x85\xa0\u2007\u202f"
"""White space in Python, but not in Java."""
_MASKS: Final = ("X", "x", "n", "-")
_KINDS: Final = {"Lu": 0, "Ll": 1, "Nd": 2}


def units(text: str) -> str:
    """Return a string with one character per UTF-16 unit.

    Example:
        >>> len(units("a😀"))
        3
    """
    if text.isascii() or max(text) < "\U00010000":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(
        chr(int.from_bytes(data[at : at + 2], "little")) for at in range(0, len(data), 2)
    )


def whole(units: str) -> str:
    """Convert UTF-16 units to a string; unpaired surrogates become question marks."""
    if units.isascii():
        return units
    joined = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "replace").decode()


def length(text: str) -> int:
    return len(units(text))


def substring(text: str, position: int, size: int | None = None) -> str:
    return whole(_part(units(text), position, size))


def bytes_substring(data: bytes, position: int, size: int | None = None) -> bytes:
    return _part(data, position, size)


def _part(given: Sequence, position: int, size: int | None) -> Sequence:
    """Return the part from a position on, counted from 1, or from the end if negative."""
    most = len(given)
    start = max(most + position, 0) if position < 0 else max(min(position - 1, most), 0)
    return given[start:] if size is None else given[start : max(start + size, start)]


def pad_left(text: str, size: int, padding: str) -> str | None:
    value = units(text)
    filled = _padding(len(value), size, units(padding))
    return None if filled is None else whole((filled + value)[:size])


def pad_right(text: str, size: int, padding: str) -> str | None:
    value = units(text)
    filled = _padding(len(value), size, units(padding))
    return None if filled is None else whole((value + filled)[:size])


def bytes_pad_left(data: bytes, size: int, padding: bytes) -> bytes | None:
    filled = _padding(len(data), size, padding)
    return None if filled is None else (filled + data[:size])


def bytes_pad_right(data: bytes, size: int, padding: bytes) -> bytes | None:
    filled = _padding(len(data), size, padding)
    return None if filled is None else (data + filled)[:size]


def _padding(given: int, size: int, padding: Sequence) -> Sequence | None:
    if size < 0 or not padding:
        return None
    ensure_length(size)
    missing = max(size - given, 0)
    return (padding * (missing // len(padding) + 1))[:missing]


def ensure_length(length: int) -> None:
    """Raise a ValueError if a value would exceed the size limit of one call."""
    if length > LENGTH_MAX:
        raise ValueError(length)


def upper(text: str) -> str:
    return text.upper()


def lower(text: str) -> str:
    return text.lower()


def trim(text: str) -> str:
    return text.strip(_TRIMMED)


def capitalized(text: str) -> str:
    """Return each word with its first letter in upper case and the others in lower case."""
    made: list[str] = []
    starts = True
    for character in text.lower():
        first = character.upper() if starts else character
        made.append(first if len(first) == 1 else character)
        starts = character.isspace() and character not in _NO_SPACE
    return "".join(made)


def replace(text: str, part: str, by: str) -> str:
    if len(text) + (len(text) + 1) * len(by) > LENGTH_MAX:
        ensure_length(len(text) + text.count(part) * (len(by) - len(part)))
    return text.replace(part, by)


def joined(elements: list[str], delimiter: str) -> str:
    ensure_length(sum(map(len, elements)) + len(delimiter) * max(len(elements) - 1, 0))
    return delimiter.join(elements)


def parts(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else characters(text)


def characters(text: str) -> list[str]:
    return list(text) or [text]


def bytes_parts(data: bytes, separator: bytes) -> list[bytes]:
    if separator:
        return data.split(separator)
    return [data[at : at + 1] for at in range(len(data))] or [data]


def bytes_join(separator: bytes | None, *some: bytes | None) -> bytes | None:
    """Accepts nulls: null parts are left out."""
    return None if separator is None else separator.join(one for one in some if one is not None)


def entries(text: str, between: str, inside: str) -> dict[str, str] | None:
    """Split a string into entries by key.

    The last one of a key counts, invalid ones are left out.
    """
    if not between or not inside:
        return None
    pairs = (entry.split(inside) for entry in text.split(between))
    return {pair[0]: pair[1] for pair in pairs if len(pair) > 1}


def position(text: str | None, part: str | None, start: int, occurrence: int) -> int:
    """Return a position from 1, or 0; a negative start searches backwards. Accepts null strings."""
    if text is None or part is None or start == 0 or occurrence < 1:
        return 0
    value, wanted = units(text), units(part)
    if not wanted:
        return start if 0 < start <= len(value) else 0
    at = start - 2 if start > 0 else len(value) + start + 1
    for _ in range(occurrence):
        at = _next(value, wanted, at) if start > 0 else _last(value, wanted, at - 1)
        if at < 0:
            return 0
    return at + 1


def _next(value: str, wanted: str, before: int) -> int:
    return value.find(wanted, max(before + 1, 0))


def _last(value: str, wanted: str, at: int) -> int:
    return -1 if at < 0 else value.rfind(wanted, 0, at + len(wanted))


def of_code_point(code: int) -> str | None:
    return whole(chr(code)) if 0 <= code <= 0x10FFFF else None


def of_escapes(text: str) -> str | None:
    if not _ESCAPES.fullmatch(text):
        return None
    return whole("".join(chr(int(one, 16)) for one in text.split("\\u")[1:]))


def masking(which: str) -> Callable[..., str | None]:
    r"""Return MASK or a variant: LEFT and RIGHT hide `count` characters, KEEP_… all others.

    Accepts nulls: a null mask leaves characters of its kind unchanged.

    Example:
        >>> masking("KEEP_LEFT")("Ab-1", 1), masking("LEFT")("Ab-1", 1, None, None, None, None)
        ('Ax-n', 'Ab-1')
    """

    def mask(text: str | None, count: int | None, *masks: str | None) -> str | None:
        signs = masks or _MASKS
        if count is None or count < 0 or any(s is not None and length(s) != 1 for s in signs):
            return None
        if text is None:
            return None
        value = units(text)
        hidden = min(count, len(value))
        start = {"RIGHT": len(value) - hidden, "KEEP_LEFT": hidden}.get(which, 0)
        end = {"LEFT": hidden, "KEEP_RIGHT": len(value) - hidden}.get(which, len(value))
        inside = "".join(_masked(one, signs) for one in value[start:end])
        return whole(value[:start] + inside + value[end:])

    return mask


def _masked(character: str, masks: tuple[str | None, ...]) -> str:
    mask = masks[_KINDS.get(unicodedata.category(character), 3)]
    return character if mask is None else mask

"""kcat's pack strings: several numbers and a text, one after the other.

    q     8 bytes, big-endian                       1001
    >ihs  4 bytes, 2 bytes, the rest as text        1001 7 rest

Source: kcat's `-s`.
"""

import json
import struct
from typing import Final

from duolog.cli.records.field_forms import FieldForm, integer, not_of
from duolog.core.counts import counted_are

_PACK_TOKENS: Final = "<>bBhHiIqQcs$"


class PackForm:
    """kcat's pack strings, such as `q`, `<i`, `>hs`; in text, values are separated by spaces."""

    def __init__(self, pack: str) -> None:
        self._pack = pack
        self._parts: list[str] = []
        order, self._ends, self._has_rest = ">", False, False
        for letter in pack:
            if letter in "<>":
                order = letter
            elif letter == "$":
                self._ends = True
            elif letter == "s":
                self._has_rest = True
            else:
                self._parts.append(order + letter)

    def decode(self, data: bytes) -> object:
        values: list[object] = []
        at = 0
        for part in self._parts:
            try:
                (value,) = struct.unpack_from(part, data, at)
            except struct.error:
                raise ValueError(
                    f'{counted_are(len(data), "byte")} too short for the pack string "{self._pack}"'
                ) from None
            values.append(value.decode("latin-1") if isinstance(value, bytes) else value)
            at += struct.calcsize(part)
        if self._has_rest:
            try:
                values.append(data[at:].decode())
            except UnicodeDecodeError:
                raise ValueError("its last field (s) is not UTF-8") from None
        elif self._ends and at < len(data):
            raise ValueError(
                f'{counted_are(len(data), "byte")} too long for the pack string "{self._pack}"'
            )
        return values[0] if len(values) == 1 else " ".join(map(str, values))

    def encode(self, text: str) -> bytes:
        data = b""
        try:
            texts = self._texts(text)
            for part, one in zip(self._parts, texts, strict=False):
                value = one.encode("latin-1") if part[1] == "c" else integer(one)
                data += struct.pack(part, value)
        except (ValueError, struct.error) as error:
            raise not_of(f'the pack string "{self._pack}"', text) from error
        return data + (texts[-1].encode() if self._has_rest else b"")

    def _texts(self, text: str) -> list[str]:
        """Split a text into one part for each letter, and the rest; a character may be a space."""
        found, left, count = [], text, len(self._parts) + self._has_rest
        for number, part in enumerate(self._parts, 1):
            at = len(left) if number == count else 1 if part[1] == "c" else left.find(" ")
            if number < count and left[at : at + 1] != " ":
                raise ValueError("it has fewer values than the pack string has letters")
            found.append(left[:at])
            left = left[at + 1 :]
        return [*found, left] if self._has_rest else found

    def encode_json(self, text: str) -> bytes:
        return self.encode(json.loads(text) if text.startswith('"') else text)


def form_of_pack(pack: str) -> FieldForm:
    """Return the form of one of kcat's pack strings.

    Example:
        >>> form_of_pack("q").encode("1"), form_of_pack(">hs").decode(b"\\x00\\x07rest")
        (b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01', '7 rest')

    Raises:
        ValueError: it is not a pack string.
    """
    unknown = [token for token in pack if token not in _PACK_TOKENS]
    if unknown or not set(pack) - set("<>$"):
        raise ValueError(
            f'"{pack}" is not a pack string; use letters from bBhHiIqQcs after an optional < or >, '
            "such as q or >is"
        )
    if "s" in pack.rstrip("$")[:-1] or "$" in pack[:-1]:
        raise ValueError(f'"{pack}" is not a pack string: s must come last, $ at the end')
    return PackForm(pack)

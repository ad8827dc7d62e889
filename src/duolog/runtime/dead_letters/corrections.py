"""New keys and values for letters before they are replayed.

    fixed          bytes given for key or value
    SQL            expressions over the columns of a letter, in `sql_corrections`
    a function     Python code of the user, called with each letter; on the command line only

A correction that fails for a letter, or has no value for it, leaves the letter where it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from duolog.core.exception_text import describe_exception
from duolog.runtime.dead_letters.letter import Headers, Letter

SAME: Final = object()
"""Stands for a key or value that stays as it is."""


class Corrected(NamedTuple):
    """Key, value and headers that are written for a letter."""

    key: bytes | None
    value: bytes | None
    headers: Headers

    def with_part(self, part: str, data: bytes | None) -> "Corrected":
        """Return the same with another `key` or `value`."""
        return self._replace(key=data) if part == "key" else self._replace(value=data)


class Kept(NamedTuple):
    """The reason to leave a letter; `failed` if that is an error of the correction."""

    why: str
    failed: bool = False


class Correction(Protocol):
    """Corrects letters in batches."""

    def of(self, letters: Sequence[Letter]) -> Sequence[Corrected | Kept]:
        """Return the correction of each letter, in order."""


def unchanged(letter: Letter) -> Corrected:
    """Return a letter's own key, value and headers."""
    return Corrected(letter.record.key, letter.record.value, letter.own)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Replaces key, value or headers of each letter; `SAME` leaves them."""

    key: object = SAME
    value: object = SAME
    headers: Headers | None = None
    """The new headers; None to leave them."""

    def of(self, letters: Sequence[Letter]) -> Sequence[Corrected | Kept]:
        return [self._one(unchanged(letter), letter) for letter in letters]

    def _one(self, mine: Corrected, letter: Letter) -> Corrected | Kept:
        whole = self.headers is not None and SAME not in (self.key, self.value)
        missing = missing_of(letter, has_value=self.value is not SAME)
        if missing is not None and not whole:
            return missing
        for name, given in (("key", self.key), ("value", self.value)):
            if given is not SAME:
                assert given is None or isinstance(given, bytes)
                mine = mine.with_part(name, given)
        return mine if self.headers is None else mine._replace(headers=self.headers)


def missing_of(letter: Letter, *, has_value: bool) -> Kept | None:
    """Return why a letter that is not complete cannot be replayed; None if it can."""
    if not letter.left_out or (has_value and letter.left_out == "value"):
        return None
    return Kept(f"too large for its topic, without {letter.left_out}")


@dataclass(frozen=True, slots=True)
class ByFunction:
    """Calls a user's function with each letter.

    The function returns the value: bytes, text or None for a tombstone; or a pair of key and value;
    or False to leave the letter where it is.
    """

    function: Callable[[Letter], object]

    def of(self, letters: Sequence[Letter]) -> Sequence[Corrected | Kept]:
        return [self._one(letter) for letter in letters]

    def _one(self, letter: Letter) -> Corrected | Kept:
        try:
            found = self.function(letter)
            if found is False:
                return Kept("left by the function")
            key, value = found if isinstance(found, tuple) else (SAME, found)
            same = letter.record.key
            new = Corrected(same if key is SAME else _bytes(key), _bytes(value), letter.own)
        except Exception as error:  # noqa: BLE001 - the function is the user's
            return Kept(f"the function failed: {describe_exception(error)}", failed=True)
        # A part that the letter does not have must not become a null by mistake.
        return missing_of(letter, has_value=new.value is not None) or new


def _bytes(value: object) -> bytes | None:
    match value:
        case None | bytes():
            return value
        case bytearray() | memoryview():
            return bytes(value)
        case str():
            return value.encode()
        case _:
            raise TypeError(
                f"it returned {type(value).__name__}; expected bytes, str, None, False, or a pair "
                "of key and value"
            )

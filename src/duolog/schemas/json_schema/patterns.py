r"""Regular expressions of JSON Schema, run by RE2 in linear time.

`pattern` and `patternProperties` hold expressions of ECMA-262. `translate` checks their syntax in
one pass and writes them for RE2. RE2 has no lookahead, lookbehind, backreference or atomic group:
an expression with one of them is a valid part of a schema, but it is not run, and
`Pattern.found_in` answers None. The same holds for an expression whose program is too large.

`\d`, `\w`, `\s` and `\b` mean ASCII, as in ECMA-262 and Java; only `\S` inside brackets differs.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import re2

from duolog.schemas.errors import InvalidSchemaError

_REPEAT_MAX: Final = 1000
"""RE2's largest count in braces. Larger counts are written as several of this size."""
_COPIES_MAX: Final = 10
_MEMORY_BYTES_MAX: Final = 4 * 1024 * 1024
_SMALL_BYTES_MAX: Final = 128 * 1024
_COPIED_CHARACTERS_MAX: Final = 20_000
_EXPRESSION_CHARACTERS_MAX: Final = 10_000

_SPACE: Final = r"\t\n\v\f\r "
_PASSED: Final = {
    **{letter: f"\\{letter}" for letter in "dDwWtnvfr"},
    "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]", "b": r"\b", "B": r"\B", "A": r"\A", "z": r"\z",
}  # fmt: skip
_PASSED_IN_CLASS: Final = {
    **{letter: f"\\{letter}" for letter in "dDwWStnvfr"},
    "s": _SPACE,
}
_BRACES = re.compile(r"\{(\d+)(,?)(\d*)\}")
_GROUP = re.compile(
    r"\((?:\?(?:(?P<plain>:)|<(?P<name>[^\W\d]\w*)>|(?P<flags>[ims]+\))|(?P<odd>.)))?"
)
_UNICODE = re.compile(
    r"u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})(?:\\u([Dd][C-Fc-f][0-9A-Fa-f]{2}))?"
)
_PROPERTY = re.compile(r"([pP])\{(?:(?:Script|sc|General_Category|gc)=)?(\w+)\}")
_CATEGORIES: Final = {
    "Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Mark": "M", "Number": "N",
    "Decimal_Number": "Nd", "Punctuation": "P", "Symbol": "S", "Separator": "Z",
}  # fmt: skip


class Pattern:
    """An expression, compiled at its first use."""

    def __init__(self, expression: str, memory_bytes_max: int = _MEMORY_BYTES_MAX) -> None:
        self.expression = expression
        self._memory_bytes_max = memory_bytes_max
        self._search: Callable[[str], object] | None = None
        self._compiled = False

    def found_in(self, text: str) -> bool | None:
        """Return whether the expression matches a part of `text`; None if RE2 cannot run it."""
        if not self._compiled:
            self._search, self._compiled = _compile(self.expression, self._memory_bytes_max), True
        if self._search is None:
            return None
        try:
            return self._search(text) is not None
        except UnicodeEncodeError:  # A surrogate without a partner: no expression denotes it.
            return False


@lru_cache(maxsize=1024)
def small_pattern(expression: str) -> Pattern:
    """Return the pattern of an expression that is not run if its program is large."""
    return Pattern(expression, _SMALL_BYTES_MAX)


@lru_cache(maxsize=1024)
def pattern(expression: str) -> Pattern:
    """Return the pattern of an expression."""
    return Pattern(expression)


def ensure_valid(expression: str, place: str) -> None:
    """Check the syntax of an expression.

    Raises:
        InvalidSchemaError: it is not a regular expression.
    """
    try:
        translate(expression)
    except ValueError as error:
        raise InvalidSchemaError(
            f"the schema at {place} has an invalid regular expression",
            detail=f"{expression[:100]!r}: {error}",
            hint="Correct the expression in pattern or patternProperties.",
        ) from error


def translate(expression: str) -> str | None:
    """Return an expression in RE2's syntax; None if RE2 lacks a construct in it.

    Raises:
        ValueError: the syntax is invalid; the text says why.
    """
    translation = _Translation(expression)
    translation.run()
    return None if translation.lacking else "".join(translation.out)


def _compile(expression: str, memory_bytes_max: int) -> Callable[[str], object] | None:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory_bytes_max
    if len(expression) > _EXPRESSION_CHARACTERS_MAX:
        return None
    try:
        translated = translate(expression)
        if translated is None:
            return None
        search: Callable[[str], object] = re2.compile(translated, options).search
    except (re2.error, ValueError):
        return None
    return search


class _Translation:
    """One pass over an expression.

    Attributes:
        out: the translation, in parts.
        lacking: True if RE2 lacks a construct.
    """

    def __init__(self, expression: str) -> None:
        self.text = expression
        self.position = 0
        self.out: list[str] = []
        self.lacking = False
        self._groups: list[int] = []
        self._atom: int | None = None  # Where in `out` that starts which a count would repeat.

    def run(self) -> None:
        while self.position < len(self.text):
            character = self.text[self.position]
            match character:
                case "(":
                    self._open()
                case ")":
                    self._close()
                case "[":
                    self._emit(self._class())
                case "\\":
                    self._emit(self._escape(in_class=False))
                case "*" | "+" | "?":
                    self.position += 1
                    self._repeat(character)
                case "{" if braces := _BRACES.match(self.text, self.position):
                    self.position = braces.end()
                    self._repeat_counted(braces)
                case "|":
                    self.position += 1
                    self.out.append("|")
                    self._atom = None
                case _:
                    self.position += 1
                    self._emit(_literal(character))
        if self._groups:
            raise ValueError("a group is not closed")

    def _emit(self, part: str) -> None:
        self._atom = len(self.out)
        self.out.append(part)

    def _open(self) -> None:
        opened = _GROUP.match(self.text, self.position)
        assert opened is not None
        self.position = opened.end()
        self._atom = None
        if opened["flags"]:
            self.out.append(opened[0])
            return
        if opened["odd"]:
            self.lacking = True
        self._groups.append(len(self.out))
        self.out.append("(?:")

    def _close(self) -> None:
        if not self._groups:
            raise ValueError("a group is closed that was not opened")
        self.position += 1
        self._atom = self._groups.pop()
        self.out.append(")")

    def _repeat(self, operator: str) -> None:
        self._ensure_repeatable(operator)
        self.out.append(operator + self._suffix())
        self._atom = None

    def _repeat_counted(self, braces: re.Match[str]) -> None:
        start = self._ensure_repeatable(braces[0])
        least = int(braces[1][:9])
        most = int(braces[3][:9]) if braces[3] else None if braces[2] else least
        if most is not None and most < least:
            raise ValueError(f"{braces[0]} has its numbers in the wrong order")
        suffix = self._suffix()
        if max(least, most or 0) <= _REPEAT_MAX:
            self.out.append(braces[0] + suffix)
        elif max(least, most or 0) > _REPEAT_MAX * _COPIES_MAX:
            self.lacking = True
        else:
            self._copy(start, least, most)
        self._atom = None

    def _copy(self, start: int, least: int, most: int | None) -> None:
        atom = "".join(self.out[start:])
        del self.out[start:]
        if len(atom) * _COPIES_MAX > _COPIED_CHARACTERS_MAX:
            self.lacking = True
            atom = ""
        counts = [f"{{{count}}}" for count in _pieces(least)]
        counts += ["*"] if most is None else [f"{{0,{count}}}" for count in _pieces(most - least)]
        self.out.append(f"(?:{''.join(atom + count for count in counts)})")

    def _ensure_repeatable(self, operator: str) -> int:
        if self._atom is None:
            raise ValueError(f"nothing to repeat before {operator[:20]}")
        return self._atom

    def _suffix(self) -> str:
        following = self.text[self.position : self.position + 1]
        if following == "+":  # Java's possessive form.
            self.lacking = True
        if following not in {"?", "+"}:
            return ""
        self.position += 1
        return "?"

    def _escape(self, *, in_class: bool) -> str:
        start = self.position + 1
        if start >= len(self.text):
            raise ValueError("it ends with a backslash")
        letter = self.text[start]
        self.position = start + 1
        passed = _PASSED_IN_CLASS if in_class else _PASSED
        if letter in passed:
            return passed[letter]
        if letter == "b":
            return r"\x08"
        if letter == "0" and not self.text[start + 1 : start + 2].isdigit():
            return r"\x00"
        if coded := self._coded(letter, start):
            return coded
        if letter.isascii() and letter.isalnum():
            self.lacking = True
            return ""
        return _literal(letter, escaped=True)

    def _coded(self, letter: str, start: int) -> str:
        """Return the translation of a code point or a Unicode property."""
        if letter == "u" and (code := _UNICODE.match(self.text, start)):
            self.position = code.end() if code[3] is None or _paired(code) else code.end() - 6
            return _code_point(code)
        if letter == "x" and (code := re.compile("x([0-9A-Fa-f]{2})").match(self.text, start)):
            self.position = code.end()
            return f"\\x{{{code[1]}}}"
        if letter == "c" and (code := re.compile("c([A-Za-z])").match(self.text, start)):
            self.position = code.end()
            return f"\\x{{{ord(code[1]) % 32:x}}}"
        if letter in "pP" and (code := _PROPERTY.match(self.text, start)):
            self.position = code.end()
            return f"\\{code[1]}{{{_CATEGORIES.get(code[2], code[2])}}}"
        return ""

    def _class(self) -> str:
        self.position += 1
        negated = self.text.startswith("^", self.position)
        self.position += negated
        members: list[str] = []
        while not self.text.startswith("]", self.position):
            if self.position >= len(self.text):
                raise ValueError("a class of characters is not closed")
            members.append(self._class_member())
        self.position += 1
        if not members:
            return r"[\x00-\x{10FFFF}]" if negated else r"[^\x00-\x{10FFFF}]"
        return f"[{'^' if negated else ''}{''.join(members)}]"

    def _class_member(self) -> str:
        first = self._class_atom()
        if not self.text.startswith("-", self.position) or self.text.startswith(
            "-]", self.position
        ):
            return first
        self.position += 1
        if self.position >= len(self.text):
            raise ValueError("a class of characters is not closed")
        last = self._class_atom()
        ends = _single(first), _single(last)
        if None in ends:  # A set is not the end of a range: the minus is one more character.
            return f"{first}\\-{last}"
        if ends > (ends[1], ends[1]):
            raise ValueError("a range of characters is out of order")
        return f"{first}-{last}"

    def _class_atom(self) -> str:
        character = self.text[self.position]
        if character == "\\":
            return self._escape(in_class=True)
        self.position += 1
        return _literal(character, escaped=True)


def _literal(character: str, *, escaped: bool = False) -> str:
    if character == "." and not escaped:
        return r"[^\n\r\x{2028}\x{2029}]"
    if character in "^$" and not escaped:
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return r"[^\x00-\x{10FFFF}]"
    return character if character.isalnum() or code >= 128 else f"\\x{{{code:x}}}"


def _single(part: str) -> int | None:
    """Return the code point that a translated member of a class denotes, if it is one."""
    if len(part) == 1:
        return ord(part)
    code = re.fullmatch(r"\\x\{?([0-9A-Fa-f]+)\}?", part)
    named = {r"\t": 9, r"\n": 10, r"\v": 11, r"\f": 12, r"\r": 13}
    return int(code[1], 16) if code else named.get(part)


def _paired(code: re.Match[str]) -> bool:
    return 0xD800 <= int(code[2], 16) <= 0xDBFF


def _code_point(code: re.Match[str]) -> str:
    value = int(code[1] or code[2], 16)
    if code[3] is not None and _paired(code):
        value = 0x10000 + ((value - 0xD800) << 10) + (int(code[3], 16) - 0xDC00)
    if value > 0x10FFFF:
        raise ValueError(f"U+{value:X} is not a character")
    return f"\\x{{{value:x}}}" if not 0xD800 <= value <= 0xDFFF else r"[^\x00-\x{10FFFF}]"


def _pieces(count: int) -> list[int]:
    whole, rest = divmod(count, _REPEAT_MAX)
    return [_REPEAT_MAX] * whole + ([rest] if rest else [])
